"""Do the published rates of client sampling hold, and is what does not hold said?"""

from unalike_studies.sampling.rates import rate_claims


def test_noise_and_rates_are_as_published_but_for_the_constant_of_multinomial_sampling():
    claims = list(rate_claims())
    assert [claim.id for claim in claims] == ["CS-20", "CS-20", "CS-21", "CS-21"]
    noise, rate, multinomial, clusters = claims
    assert noise.holds
    assert rate.holds
    assert clusters.holds
    assert not multinomial.holds
    assert not multinomial.hard
    assert multinomial.note

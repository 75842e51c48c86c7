"""Does `unalike statistics` answer as expected, and refuse in one sentence?"""


def test_statistics_are_shown_and_printed_for_machines(sites, unalike):
    text = unalike("statistics", sites, "--minimum-cell-count", 5).out
    assert "200" in text
    assert "site3" in text
    found = unalike("statistics", sites, "--json").json
    assert found["columns"]["sex"]["words"].keys() == {"f", "m"}
    assert "Chi-square" in unalike("statistics", sites, "--cross", "sex,sex").out
    assert "component 1" in unalike("statistics", sites, "--columns", "age,y", "--correlations").out


def test_tables_that_are_not_there(unalike, tmp_path):
    assert "no file or folder" in unalike("statistics", tmp_path / "nothing").sentence

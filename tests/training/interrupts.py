"""Ctrl-C at a chosen moment."""


def asked_at(reading):
    """Interrupts whose flag is down until it is read for the given time."""

    class Impatient:
        readings = 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        @property
        def stop_requested(self):
            self.readings += 1
            return self.readings >= reading

    return Impatient

package boot

import "fmt"

// launcherName is what a session calls a launcher that has started the ranks, and can look at them
// and end them.
const launcherName = "fitrun"

// Lost is how the text of a Suspect begins that is about a rank whose connection was lost for good:
// that cannot be withdrawn.
const Lost = "it was lost: "

// Unreachable is how the text of a Suspect begins that is about a rank whose host does not answer:
// its process may well run.
const Unreachable = "its host is unreachable: "

// Suspect tells the launcher that a rank is held to be dead because nothing is heard of it, and
// why, or, with an empty text, that it is not any more. If told, the launcher finds out, and if the
// rank cannot be helped ends it for good and says so by PeerFailed. It is not told if there is no
// launcher that could.
func Suspect(s Session, rank int, text string) (told bool, err error) {
	link, ok := s.(*session)
	if !ok || link.other != launcherName {
		return false, nil
	}
	if err := link.send(message{Type: typeSuspect, Rank: rank, Text: clip(text, maxValue)}); err != nil {
		return false, fmt.Errorf("boot: telling %s of rank %d: %w", link.other, rank, err)
	}
	return true, nil
}

func (m message) checkSuspect() error {
	if m.Rank < 0 || m.Rank >= maxSize {
		return fmt.Errorf("suspicion of rank %d; want 0 to %d", m.Rank, maxSize-1)
	}
	return m.checkText(maxValue)
}

//go:build linux

package agent

import (
	"debug/elf"
	"encoding/binary"
)

// ArchOf is the GOARCH of a machine as uname -m calls it; what it does not know it returns as it
// is.
func ArchOf(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "i386", "i486", "i586", "i686":
		return "386"
	case "armv5tel", "armv6l", "armv7l", "armv8l":
		return "arm"
	case "loongarch64":
		return "loong64"
	case "mips64":
		return "mips64"
	default: // riscv64, s390x, ppc64, ppc64le and others are called so by both
		return machine
	}
}

// ArchOfFile is the GOARCH that the program at path is built for, "" if it is a script, or
// something else that every architecture may run.
func ArchOfFile(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	little := f.ByteOrder == binary.ByteOrder(binary.LittleEndian)
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_386:
		return "386"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_RISCV:
		return "riscv64"
	case elf.EM_S390:
		return "s390x"
	case elf.EM_LOONGARCH:
		return "loong64"
	case elf.EM_PPC64:
		if little {
			return "ppc64le"
		}
		return "ppc64"
	default:
		return f.Machine.String()
	}
}

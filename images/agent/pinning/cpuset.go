package pinning

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU is more than any kernel is built for (NR_CPUS is at most 8192); it keeps a wrong list from taking all memory.
const maxCPU = 8191

// CPUSet is a set of CPU ids: ascending, each once.
type CPUSet []int

// Of makes a set of ids in any order.
func Of(ids ...int) CPUSet {
	set := slices.Clone(ids)
	slices.Sort(set)
	return slices.Compact(set)
}

// ParseList reads the kernel's list form, for example "0-3,8,10-11". The empty text is the empty set.
func ParseList(text string) (CPUSet, error) {
	var ids []int
	for _, part := range strings.Split(strings.TrimSpace(text), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of CPUs", text)
		}
		last, err := strconv.ParseUint(to, 10, 31)
		if err != nil || last < first || last > maxCPU {
			return nil, fmt.Errorf("%q is no list of CPUs", text)
		}
		for id := first; id <= last; id++ {
			ids = append(ids, int(id))
		}
	}
	return Of(ids...), nil
}

// String is the kernel's list form.
func (s CPUSet) String() string {
	var parts []string
	for begin := 0; begin < len(s); {
		end := begin
		for end+1 < len(s) && s[end+1] == s[end]+1 {
			end++
		}
		if begin == end {
			parts = append(parts, strconv.Itoa(s[begin]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", s[begin], s[end]))
		}
		begin = end + 1
	}
	return strings.Join(parts, ",")
}

// Mask is the set as 32-bit words, the highest first and without leading zero words, for example "0x00010001,0x00000000".
func (s CPUSet) Mask() string { return s.words("0x%08x") }

// KernelMask is Mask as smp_affinity, rps_cpus and xps_cpus take it: without 0x.
func (s CPUSet) KernelMask() string { return s.words("%08x") }

func (s CPUSet) words(form string) string {
	if len(s) == 0 {
		return fmt.Sprintf(form, 0)
	}
	words := make([]uint32, s[len(s)-1]/32+1)
	for _, id := range s {
		words[id/32] |= 1 << (id % 32)
	}
	slices.Reverse(words)
	texts := make([]string, len(words))
	for index, word := range words {
		texts[index] = fmt.Sprintf(form, word)
	}
	return strings.Join(texts, ",")
}

// ParseMask reads Mask and KernelMask. A zero word may be empty, as hwloc writes it: "0x3,,0x3".
func ParseMask(text string) (CPUSet, error) {
	words := strings.Split(strings.TrimSpace(text), ",")
	if len(words) > maxCPU/32+1 {
		return nil, fmt.Errorf("%q is too long for a CPU mask", text)
	}
	slices.Reverse(words)
	var set CPUSet
	for index, word := range words {
		word = strings.TrimPrefix(strings.TrimSpace(word), "0x")
		if word == "" && len(words) > 1 {
			continue
		}
		bits, err := strconv.ParseUint(word, 16, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no CPU mask", text)
		}
		for bit := range 32 {
			if bits&(1<<bit) != 0 {
				set = append(set, index*32+bit)
			}
		}
	}
	return set, nil
}

// Without is what is in s and not in other.
func (s CPUSet) Without(other CPUSet) CPUSet {
	return slices.DeleteFunc(slices.Clone(s), func(id int) bool { return slices.Contains(other, id) })
}

package backup

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// tableFolderForm is how both engines name the folder of a table: its name, a hyphen, its id without hyphens.
var tableFolderForm = regexp.MustCompile(`^([A-Za-z0-9_]+)-([0-9a-f]{32})$`)

// TableOf reads the name of a table's folder.
func TableOf(folder string) (table, id string, is bool) {
	parts := tableFolderForm.FindStringSubmatch(folder)
	if parts == nil {
		return "", "", false
	}
	raw, _ := hex.DecodeString(parts[2])
	return parts[1], fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]), true
}

// SnapshotFolders lists the folders of a snapshot below an engine's data; none when there is none. Error code: invalid-parameters.
func SnapshotFolders(data, tag string) ([]TableFolder, error) {
	if err := checkName("tag", tag); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(data, "*", "*", "snapshots", tag))
	if err != nil {
		return nil, err
	}
	var found []TableFolder
	for _, path := range paths {
		ofTable := filepath.Dir(filepath.Dir(path))
		if table, id, is := TableOf(filepath.Base(ofTable)); is {
			found = append(found, TableFolder{Keyspace: filepath.Base(filepath.Dir(ofTable)), Table: table, TableID: id, Folder: path})
		}
	}
	return found, nil
}

// SizeOf counts the files in folders, and their bytes.
func SizeOf(folders []TableFolder) (files int, bytes int64, err error) {
	for _, folder := range folders {
		entries, err := os.ReadDir(folder.Folder)
		if err != nil {
			return 0, 0, err
		}
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				files++
				bytes += info.Size()
			}
		}
	}
	return files, bytes, nil
}

// Renumbered is the name of a file of an SSTable with another number for its id; empty of other files.
func Renumbered(name string, number int) string {
	parts := strings.SplitN(name, "-", 4)
	if len(parts) != 4 {
		return ""
	}
	return fmt.Sprintf("%s-%d-%s-%s", parts[0], number, parts[2], parts[3])
}

// LinkInto puts links to the files of a fetched SSTable into a folder, under names with a number of their own.
func (r Ready) LinkInto(folder string, number int) error {
	entries, err := os.ReadDir(r.Folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := Renumbered(entry.Name(), number); name != "" {
			if err := os.Link(filepath.Join(r.Folder, entry.Name()), filepath.Join(folder, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

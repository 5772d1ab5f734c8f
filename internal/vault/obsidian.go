package vault

import (
	"encoding/json"
	"strings"
)

// WithObsidian returns the configuration with the folders of daily notes and templates from
// Obsidian's settings, where raven.yaml does not set them. Either text may be nil; invalid settings
// are ignored. The name format of daily notes is not taken over: it is always YYYY-MM-DD.
func (c Config) WithObsidian(daily, templates []byte) Config {
	if folder, ok := obsidianFolder(daily); ok && !c.dailyIsSet {
		if c.DailyDirectory = strings.TrimSuffix(folder, "/"); folder == "" {
			c.DailyDirectory = Root
		}
	}
	if folder, ok := obsidianFolder(templates); ok && c.Directories.Template == "" {
		c.Directories.Template = folder
	}
	return c
}

// obsidianFolder returns the folder in an Obsidian settings file, with a trailing slash, or "" for
// the root of the vault. ok is false if the file has none or is invalid.
func obsidianFolder(text []byte) (folder string, ok bool) {
	var settings struct {
		Folder *string `json:"folder"`
	}
	if len(text) == 0 || json.Unmarshal(text, &settings) != nil || settings.Folder == nil {
		return "", false
	}
	folder = CleanPath(strings.Trim(strings.TrimSpace(*settings.Folder), "/"))
	if folder == "" || folder == Root {
		return "", true
	}
	if _, err := ParsePath(folder + "/x.md"); err != nil {
		return "", false
	}
	return folder + "/", true
}

// IsTemplate reports whether a note is in the configured folder of templates. Case is ignored. It
// is false for every note if no folder is configured.
func (c Config) IsTemplate(p Path) bool {
	folder := c.Directories.Template
	return folder != "" && len(p) > len(folder) && strings.EqualFold(string(p[:len(folder)]), folder)
}

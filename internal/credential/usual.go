package credential

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"rookery/internal/fault"
)

// serverKey is the key of config.yaml that names the usual server. It has no other.
const serverKey = "server"

// Usual is the server that commands go to which name neither a server nor a directory; false if there
// is none.
func (s Store) Usual() (Server, bool, error) {
	doc, err := s.config()
	if err != nil || doc == nil {
		return Server{}, false, err
	}
	value := valueOf(doc)
	if value == nil || value.ShortTag() == "!!null" {
		return Server{}, false, nil
	}
	server, err := ParseServer(value.Value)
	if err != nil {
		f := fault.Of(err)
		return Server{}, false, fault.New(f.Code, "%s: %s: %s", usualFile, serverKey, f.Message).
			Fix("server: %s", f.Fixes[0])
	}
	return server, true, nil
}

// SetUsual makes a server the usual one. What else a person wrote into the file, such as comments, stays.
func (s Store) SetUsual(ctx context.Context, server Server) error {
	return s.locked(ctx, func() error { return s.setUsual(server.URL) })
}

// ForgetUsual makes it that there is no usual server, if it is this one, and reports whether it was.
func (s Store) ForgetUsual(ctx context.Context, o Origin) (was bool, err error) {
	err = s.locked(ctx, func() error {
		usual, ok, err := s.Usual()
		if was = ok && usual.Origin == o; err != nil || !was {
			return err
		}
		return s.setUsual("")
	})
	return was, err
}

// setUsual writes the file with another value; empty: with none.
func (s Store) setUsual(url string) error {
	doc, err := s.config()
	if err != nil {
		return err
	}
	if doc == nil {
		doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	value := valueOf(doc)
	if value == nil {
		value = &yaml.Node{}
		top := doc.Content[0]
		top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: serverKey}, value)
	}
	*value = yaml.Node{Kind: yaml.ScalarNode, Value: url, LineComment: value.LineComment}
	if url == "" {
		value.Value = "null"
	}
	data, err := yaml.Marshal(doc)
	if err != nil {
		return unwritable(usualFile, err)
	}
	return s.replace(usualFile, data)
}

// config is config.yaml, a document whose content is a mapping; nil if there is nothing in it.
func (s Store) config() (*yaml.Node, error) {
	data, err := os.ReadFile(filepath.Join(s.Dir, usualFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(usualFile, err)
	}
	doc := yaml.Node{}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, malformed("it is no YAML")
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, malformed("it holds no keys")
	}
	for i := 0; i < len(top.Content); i += 2 {
		if top.Content[i].Value != serverKey || top.Content[i+1].Kind != yaml.ScalarNode {
			return nil, malformed("it may hold the key server, with the address of one, and no other")
		}
	}
	return &doc, nil
}

// valueOf is the value that config.yaml has for the server; nil if it has none.
func valueOf(doc *yaml.Node) *yaml.Node {
	if top := doc.Content[0]; len(top.Content) > 0 {
		return top.Content[1]
	}
	return nil
}

func malformed(why string) *fault.Fault {
	return fault.New(fault.InvalidParameter, "%s in %s: %s", usualFile, place, why).
		Fix("%s: https://memory.example.test", serverKey)
}

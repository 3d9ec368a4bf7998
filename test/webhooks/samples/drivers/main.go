// Judges deliveries by the sample of docs/webhooks.md; see driver.mjs.
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"sample/webhook"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var fields [5]string
		for i, field := range strings.Split(lines.Text(), "\t") {
			text, err := base64.StdEncoding.DecodeString(field)
			if err != nil {
				panic(err)
			}
			fields[i] = string(text)
		}
		secrets := strings.Split(fields[0], ",")
		fmt.Println(webhook.IsGenuine(secrets, fields[1], fields[2], fields[3], []byte(fields[4])))
	}
}

// With the Go client of openapi-generator.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	millrace "millrace.example/client"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	configuration := millrace.NewConfiguration()
	configuration.Servers = millrace.ServerConfigurations{{URL: os.Args[1]}}
	client := millrace.NewAPIClient(configuration)
	todos, files, ctx := client.DocumentsTodosAPI, client.FilesAPI, context.Background()

	input := millrace.NewDocumentInput()
	input.AdditionalProperties = map[string]interface{}{"title": "Buy milk", "stars": 5}
	body := millrace.DocumentInputAsDocumentInputOrList(input)
	created, response, err := todos.CreateTodosDocument(ctx).DocumentInputOrList(body).Execute()
	if err != nil {
		log.Fatal(err)
	}
	id, etag := created.TodosDocument.GetId(), response.Header.Get("ETag")

	found, _, err := todos.ListTodosDocuments(ctx).Filter(`{"stars":{"$gte":5}}`).Sort("-stars").Execute()
	if err != nil {
		log.Fatal(err)
	}
	titles := []string{}
	for _, document := range found {
		titles = append(titles, document.GetTitle())
	}

	done := map[string]interface{}{"done": true}
	changed, _, err := todos.UpdateTodosDocument(ctx, id).IfMatch(etag).RequestBody(done).Execute()
	if err != nil {
		log.Fatal(err)
	}
	_, _, err = todos.UpdateTodosDocument(ctx, id).IfMatch(etag).RequestBody(done).Execute()
	var stale *millrace.GenericOpenAPIError
	if !errors.As(err, &stale) {
		log.Fatal("changed")
	}
	problem := stale.Model().(millrace.Problem)
	var code millrace.ErrorCode = problem.Code

	bytes := must(os.Create("hello.txt"))
	must(bytes.WriteString("hello"))
	must(bytes.Seek(0, 0))
	file, _, err := files.UploadFile(ctx).File(bytes).Metadata(`{"of":"go"}`).Execute()
	if err != nil {
		log.Fatal(err)
	}
	must(files.DeleteFile(ctx, file.GetId()).Execute())
	_, gone, err := todos.DeleteTodosDocument(ctx, id).Prefer("return=minimal").Execute()
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(string(must(json.Marshal(map[string]interface{}{
		"titles":  titles,
		"done":    changed.GetDone(),
		"problem": map[string]interface{}{"status": problem.GetStatus(), "code": code},
		"file":    map[string]interface{}{"name": file.GetName(), "size": file.GetSize()},
		"deleted": gone.StatusCode,
	}))))
}

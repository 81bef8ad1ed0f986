/** The sample of each method in one language. */
export type Samples = ReadonlyMap<string, string>

/** Programs that hold every sample, call those of the named methods, and print `NAME CODE` for each: 0 without a refusal. */
export const SAMPLE_PROGRAMS: Readonly<
  Record<'Python' | 'PHP' | 'Go', (samples: Samples, called: readonly string[]) => string>
> = {
  Python: (samples, called) => `import os
import multihub_client

base_url, application_id = os.environ["BASE_URL"], int(os.environ["APPLICATION_ID"])
secret, version = os.environ["SECRET"], "v1"
for name in ${JSON.stringify(namesOf(samples, /= client\.(\w+)\(/))}:
    getattr(multihub_client.Client, name)
samples = {}
${eachOf(samples, (name, sample, index) => `def sample_${index}():\n${indented(withClient(sample))}\n    return result\nsamples["${name}"] = sample_${index}`)}
for name in ${JSON.stringify(called)}:
    try:
        assert samples[name]()
        print(name, 0)
    except multihub_client.RefusalError as error:
        print(name, error.code)
`,

  PHP: (samples, called) => `<?php
declare(strict_types=1);
require getenv('CLIENT') . '/autoload.php';
use Multihub\\Client\\{Client, RefusalError};

[$baseUrl, $applicationId] = [getenv('BASE_URL'), (int) getenv('APPLICATION_ID')];
[$secret, $version] = [getenv('SECRET'), 'v1'];
$samples = [];
${eachOf(samples, (name, sample) => `$samples['${name}'] = function () use ($baseUrl, $applicationId, $secret, $version) {\n${withClient(sample)}\nreturn $result;\n};`)}
foreach (${JSON.stringify(namesOf(samples, /\$client->(\w+)\(/))} as $name) {
    method_exists(Client::class, $name) || throw new Exception("the client has no $name");
}
foreach (${JSON.stringify(called)} as $name) {
    try {
        is_array($samples[$name]()) || throw new Exception("$name has no result");
        echo "$name 0\\n";
    } catch (RefusalError $error) {
        echo "$name {$error->getCode()}\\n";
    }
}
`,

  Go: (samples, called) => `package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"

	multihub "example.com/multihub/client"
)

var _ = json.Unmarshal
var samples = map[string]func(context.Context, *multihub.Client) (any, error){
${eachOf(samples, (name, sample) => `"${name}": func(ctx context.Context, client *multihub.Client) (any, error) {\n${sample}\nreturn result, err\n},`)}
}

func main() {
	id, _ := strconv.ParseInt(os.Getenv("APPLICATION_ID"), 10, 64)
	settings := multihub.Settings{BaseURL: os.Getenv("BASE_URL"), ApplicationID: id, Secret: os.Getenv("SECRET"), Version: "v1"}
	client, err := multihub.NewClient(settings)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{${called.map((name) => `"${name}"`).join(', ')}} {
		_, err := samples[name](context.Background(), client)
		var refusal *multihub.RefusalError
		if errors.As(err, &refusal) {
			fmt.Println(name, refusal.Code)
		} else if err != nil {
			log.Fatal(name, err)
		} else {
			fmt.Println(name, 0)
		}
	}
}
`,
}

/** A sample whose first line, the comment that makes the client, is code. */
export function withClient(sample: string): string {
  return sample.replace(/^(?:#|\/\/) /, '')
}

/** The functions of the client that the samples call. */
function namesOf(samples: Samples, call: RegExp): readonly (string | undefined)[] {
  return [...samples.values()].map((sample) => call.exec(sample)?.[1])
}

function eachOf(samples: Samples, write: (name: string, sample: string, index: number) => string): string {
  return [...samples].map(([name, sample], index) => write(name, sample, index)).join('\n')
}

const indented = (text: string): string => text.replaceAll(/^/gm, '    ')

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'

/** The blocks of a .bru file by name. Their lines are indented by two spaces. */
export type BruBlocks = ReadonlyMap<string, string>

/** Reads a file of the collection, as far as ours use the format. */
export function parseBru(text: string): BruBlocks {
  return new Map(
    [...text.matchAll(/^([\w:-]+) [{[]\n(.*?)\n[}\]]$/gms)].map(([, name = '', content = '']) => [
      name,
      content.replaceAll(/^ {2}/gm, ''),
    ]),
  )
}

/** The value of a line `name: value` in a block. */
export function entryOf(blocks: BruBlocks, block: string, name: string): string {
  return new RegExp(`^${name}: (.*)$`, 'm').exec(blocks.get(block) ?? '')?.[1] ?? ''
}

/** The requests of a collection in the order of their numbers. */
export async function readCollection(folder: string): Promise<readonly BruBlocks[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.bru') && name !== 'collection.bru')
  const files = await Promise.all(
    names.map(async (name) => parseBru(await readFile(join(folder, name), 'utf8'))),
  )
  return files.toSorted((a, b) => Number(entryOf(a, 'meta', 'seq')) - Number(entryOf(b, 'meta', 'seq')))
}

/** What Bruno's scripts use of the request. */
export interface BruRequest {
  url: string
  readonly headers: Record<string, string>
  body: string
}

/** Runs a script with the parts of Bruno's API that the collection uses, and nothing else. */
export function runScript(
  script: string | undefined,
  name: string,
  request: BruRequest,
  variables: Map<string, string>,
  environment: Readonly<Record<string, string>>,
  response_body: unknown,
): void {
  const bru = {
    getVar: (key: string) => variables.get(key),
    setVar: (key: string, value: string) => void variables.set(key, value),
    getEnvVar: (key: string) => environment[key],
  }
  const req = {
    getName: () => name,
    // Bruno parses a JSON body unless the script asks for the raw text.
    getBody: ({ raw = false } = {}) => (raw ? request.body : parsed(request.body)),
    setBody: (text: string) => {
      request.body = text
    },
    setUrl: (url: string) => {
      request.url = url
    },
    setHeader: (key: string, value: string) => {
      request.headers[key] = value
    },
  }
  const sha512 = (text: string) => createHash('sha512').update(text).digest('hex')
  const require = (id: string) => {
    if (id !== 'crypto-js') throw new Error(`Bruno's safe mode has no ${id}`)
    return { SHA512: (text: string) => ({ toString: () => sha512(text) }) }
  }
  runInNewContext(`(() => {${script ?? ''}\n})()`, {
    bru,
    req,
    res: { getBody: () => response_body },
    require,
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Bruno fills in the variables that are left after its scripts. */
export function fillIn(
  text: string,
  variables: ReadonlyMap<string, string>,
  environment: Readonly<Record<string, string>>,
): string {
  return text.replaceAll(
    /\{\{(\w+)\}\}/g,
    (_, name: string) => variables.get(name) ?? environment[name] ?? '',
  )
}

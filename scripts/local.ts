import { link, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { fileVariableOf, readConfig, type Variables } from '#lib/base/config/config.ts'
import { directorySetting } from '#lib/base/config/settings.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { makeDirectory } from '#lib/base/files.ts'
import { StartError } from '#lib/base/start-error.ts'
import { LOCAL_SETTINGS } from '../app/process-settings.ts'

const KEY = z.string().regex(/^[0-9a-f]{64}$/)
const keysSchema = z.strictObject({ master_key: KEY, sandbox_key: KEY })
type Keys = z.infer<typeof keysSchema>

/**
 * The process variables of a local run. It adds keys, which are created once and kept under MULTIHUB_HOME, and allows
 * callbacks to this machine (R4). Given variables win.
 */
export async function localVariables(given: Variables) {
  const { home, reference_port } = readConfig(
    { home: directorySetting('MULTIHUB_HOME', '.local'), ...LOCAL_SETTINGS },
    given,
  )
  const keys = await readOrCreateKeys(home)
  const own_secrets = {
    MULTIHUB_MASTER_KEYS: `local:${keys.master_key}`,
    MULTIHUB_SANDBOX_KEY: keys.sandbox_key,
  }
  const variables: Variables = {
    // A secret that is given in a file must not be set a second time (R7).
    ...Object.fromEntries(Object.entries(own_secrets).filter(([name]) => !given[fileVariableOf(name)])),
    MULTIHUB_CALLBACK_ALLOW: '127.0.0.0/8',
    MULTIHUB_ERASURES_FILE: join(home, 'erasures.jsonl'),
    ...given,
  }
  // `home` has the state, the keys and demo.json.
  return { variables, home, reference_port }
}

async function readOrCreateKeys(home: string): Promise<Keys> {
  const path = join(home, 'keys.json')
  const text = await explainHomeError(home, () => readIfExists(path))
  if (text === undefined) {
    if (await holdsFiles(join(home, 'data'))) {
      throw new StartError(
        `${path} is missing, and the stored secrets cannot be decrypted without it: restore it from a backup`,
      )
    }
    const keys = { master_key: randomHex(32), sandbox_key: randomHex(32) }
    await explainHomeError(home, () => writePrivately(path, keys, link))
    return readOrCreateKeys(home)
  }
  const parsed = keysSchema.safeParse(parseJsonOrUndefined(text))
  if (parsed.success) return parsed.data
  throw new StartError(
    `${path} is damaged: restore it from a backup, or remove the directory ${home} to start with new data`,
  )
}

/** The text of a file, or `undefined` when there is none. */
function readIfExists(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** Runs an access to the directory; an error becomes a sentence for the operator. */
function explainHomeError<T>(home: string, act: () => Promise<T>): Promise<T> {
  return act().catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code ?? cause.message
    throw new StartError(
      `${home} cannot be used (${reason}): set MULTIHUB_HOME to a directory that this user can write`,
      { cause },
    )
  })
}

/** The value of a JSON text; `undefined`, which no schema accepts, when the text is damaged. */
function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function holdsFiles(folder: string): Promise<boolean> {
  return readdir(folder).then(
    (entries) => entries.length > 0,
    () => false,
  )
}

/**
 * Writes a JSON file that only its owner can read, completely or not at all. Pass `link` as `place` for a file that must
 * be written once: when another process was first, its file stays.
 */
export async function writePrivately(path: string, content: unknown, place = rename): Promise<void> {
  await makeDirectory(dirname(path))
  const draft = `${path}.${randomHex(4)}.draft`
  try {
    const file = await open(draft, 'w', 0o600)
    try {
      await file.writeFile(`${JSON.stringify(content, null, 2)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await place(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(draft, { force: true })
  }
  const folder = await open(dirname(path))
  await folder.sync().finally(() => folder.close())
}

const demoSchema = z.object({
  base_url: z.url(),
  backoffice_url: z.url(),
  operator: z.object({ token: z.string() }),
  merchants: z.array(
    z.object({ credentials: z.array(z.object({ application_id: z.number(), secret: KEY })) }),
  ),
})

/** The demo.json of an earlier run; `undefined` when it is absent or damaged. */
export async function readDemo(home: string): Promise<z.infer<typeof demoSchema> | undefined> {
  const text = await readFile(join(home, 'demo.json'), 'utf8').catch(() => '')
  return demoSchema.safeParse(parseJsonOrUndefined(text)).data
}

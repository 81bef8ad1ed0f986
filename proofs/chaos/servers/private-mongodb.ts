import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { SERVERS_FOLDER } from '../../../test/support/programs.ts'
import type { Skip } from '../../../test/support/skip.ts'

/** A MongoDB-compatible server that belongs to one run: FerretDB on a PostgreSQL, see scripts/servers/README.md. */
export interface PrivateMongodb {
  readonly uri: string
  /** Kills one of its two programs with SIGKILL, by its recorded process id. */
  kill(program: 'ferretdb' | 'postgres'): Promise<void>
  /** Stops FerretDB with SIGSTOP: connections remain open without any response. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Starts what does not run; resolves when the server responds. */
  repair(): Promise<void>
}

const run = promisify(execFile)
const SCRIPTS = resolve(import.meta.dirname, '../../../scripts/servers')
const START_LIMIT_MS = 180_000

/** Why no private server can be started here; `undefined` when it can. */
export function whyNoPrivateMongodb(): Skip | undefined {
  const programs = ['bin/ferretdb', 'bin/nats-server', 'sid/multihub-packages']
  const missing = programs.filter((name) => !existsSync(join(SERVERS_FOLDER, name)))
  if (missing.length > 0)
    return { skip: `${SERVERS_FOLDER} has no ${missing.join(', ')}: run scripts/servers/install` }
  if (process.getuid?.() !== 0) return { skip: 'PostgreSQL with chroot needs root' }
  return undefined
}

/** Makes an empty folder for private servers, in the file system of the installed ones. */
export function makeServersFolder(): Promise<string> {
  return mkdtemp(join(SERVERS_FOLDER, 'chaos-'))
}

/**
 * Puts the installed programs into a folder as hard links, which takes a second. They then have paths of their own, by
 * which scripts/servers recognises its processes. Data of other servers are not linked.
 */
async function linkPrograms(folder: string): Promise<void> {
  const entries = (await readdir(join(SERVERS_FOLDER, 'sid'))).filter((entry) => entry !== 'var')
  await mkdir(join(folder, 'sid'))
  await run('cp', ['-al', join(SERVERS_FOLDER, 'bin'), folder])
  await run('cp', ['-al', ...entries.map((entry) => join(SERVERS_FOLDER, 'sid', entry)), join(folder, 'sid')])
  const { uid, gid } = await stat(join(SERVERS_FOLDER, 'sid/var/lib/postgresql'))
  for (const name of ['postgresql', 'ferretdb']) {
    const path = join(folder, 'sid/var/lib', name)
    await mkdir(path, { recursive: true })
    await chown(path, uid, gid)
  }
  // PostgreSQL enters the folder as its own user.
  for (const path of [folder, join(folder, 'sid')]) await chmod(path, 0o755)
}

/** Starts the server in an empty folder of `makeServersFolder`. scripts/servers/stop ends it. */
export async function startPrivateMongodb(folder: string): Promise<PrivateMongodb> {
  await linkPrograms(folder)
  const env = { ...process.env, MULTIHUB_SERVERS_DIR: folder }
  const repair = async (): Promise<void> => {
    await run(join(SCRIPTS, 'start'), ['mongodb'], { env, timeout: START_LIMIT_MS })
  }
  const signal = async (program: string, name: NodeJS.Signals): Promise<void> => {
    const [pid] = (await readFile(join(folder, 'run', `${program}.pid`), 'utf8')).split(' ')
    process.kill(Number(pid), name)
  }
  await repair()
  const port = (await readFile(join(folder, 'run/ferretdb.port'), 'utf8')).trim()
  return {
    uri: `mongodb://127.0.0.1:${port}/?directConnection=true`,
    kill: (program) => signal(program, 'SIGKILL'),
    pause: () => signal('ferretdb', 'SIGSTOP'),
    resume: () => signal('ferretdb', 'SIGCONT'),
    repair,
  }
}

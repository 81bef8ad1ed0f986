import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { CommonFlags } from '../request/common-flags.ts'
import { CommandError, type Terminal } from '../terminal.ts'

/** Where the back office is, and who calls it. */
export interface Account {
  readonly url: string
  readonly token: string
}

/** The file of the profiles that `multihub login` writes: mode 0600, by name of the profile. */
export function profilesPath({ variables }: Pick<Terminal, 'variables'>): string {
  const folder = variables['XDG_CONFIG_HOME'] ?? join(variables['HOME'] ?? homedir(), '.config')
  return join(folder, 'multihub', 'profiles.json')
}

/**
 * Finds the back office and the token: flags, then `MULTIHUB_URL` and `MULTIHUB_TOKEN`, then a profile, then `demo.json` of a local run
 * in this folder. Throws `CommandError` 2 without any.
 */
export function findAccount(flags: CommonFlags, terminal: Terminal): Account {
  const { variables } = terminal
  const url = flags.url ?? variables['MULTIHUB_URL']
  const token = flags.token ?? variables['MULTIHUB_TOKEN']
  const stored = flags.profile === undefined && url !== undefined ? undefined : readStored(flags, terminal)
  const account = { url: url ?? stored?.url, token: token ?? stored?.token }
  if (account.url === undefined || account.token === undefined)
    throw new CommandError(
      2,
      `there is no ${account.url === undefined ? 'address of a back office' : 'token'}: run "multihub login", give --url and --token, or run "npm start" in this folder`,
    )
  return { url: account.url.replace(/\/+$/, ''), token: account.token }
}

function readStored({ profile }: CommonFlags, terminal: Terminal): Partial<Account> | undefined {
  const name = profile ?? terminal.variables['MULTIHUB_PROFILE']
  const profiles = readJson(profilesPath(terminal)) ?? {}
  const found = profiles[name ?? 'default']
  if (found !== undefined) return found
  if (name !== undefined)
    throw new CommandError(2, `there is no profile ${name}: run "multihub login --profile ${name}"`)
  const home = terminal.variables['MULTIHUB_HOME'] ?? join(terminal.directory, '.local')
  const demo = readJson(join(home, 'demo.json'))
  const operator = demo?.['operator']
  return demo && { url: demo['backoffice_url'], token: operator?.token }
}

/** Keeps an account as a profile, in a file that no other user can read. The others in the file stay. */
export function writeProfile(name: string, account: Account, terminal: Terminal): void {
  writeProfiles({ ...readJson(profilesPath(terminal)), [name]: account }, terminal)
}

/** Forgets a profile. Returns what it was, or `undefined` when there was none. */
export function removeProfile(name: string, terminal: Terminal): Account | undefined {
  const { [name]: removed, ...others } = readJson(profilesPath(terminal)) ?? {}
  if (removed !== undefined) writeProfiles(others, terminal)
  return removed
}

function writeProfiles(profiles: object, terminal: Terminal): void {
  const path = profilesPath(terminal)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // The mode of a file that is there already would stay.
  rmSync(`${path}.part`, { force: true })
  writeFileSync(`${path}.part`, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(`${path}.part`, path)
}

// biome-ignore lint/suspicious/noExplicitAny: what a file of JSON holds is checked where it is used
function readJson(path: string): Record<string, any> | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

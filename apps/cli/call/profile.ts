import { homedir } from 'node:os'
import { join } from 'node:path'
import { OWN_NAME } from '../output/own-name.ts'
import type { CommonFlags } from '../request/common-flags.ts'
import { CommandError, type Terminal } from '../terminal.ts'
import { isThisMachine } from './insecure-address.ts'
import { readIfThere, replaceFile } from './private-file.ts'

/** Where the back office is, and who calls it. */
export interface Account {
  readonly url: string
  readonly token: string
  /** The operator has accepted that the token goes to this address without encryption, by `login --insecure` or a variable. */
  readonly insecure?: boolean
}

/** The file of the profiles that `multihub login` writes: mode 0600, by name of the profile. */
export function profilesPath({ variables }: Pick<Terminal, 'variables'>): string {
  const folder = variables['XDG_CONFIG_HOME'] ?? join(variables['HOME'] ?? homedir(), '.config')
  return join(folder, 'multihub', 'profiles.json')
}

/**
 * Finds the back office and the token: flags first, and what they leave out in ONE other place, so that no token goes to an address
 * that it is not meant for: the profile that a flag names, else `MULTIHUB_URL` and `MULTIHUB_TOKEN`, else a profile, else `demo.json`
 * of a local run in this folder. `MULTIHUB_TOKEN` alone goes to a profile's address, or to a local run on this machine. What
 * `login --insecure` accepted holds for the address of that profile only. Throws `CommandError` 2 without any.
 */
export function findAccount(flags: CommonFlags, terminal: Terminal): Account {
  const { MULTIHUB_URL, MULTIHUB_TOKEN } = terminal.variables
  const is_given = flags.url !== undefined || MULTIHUB_URL !== undefined || MULTIHUB_TOKEN !== undefined
  const other: PartialAccount | undefined =
    flags.profile === undefined && is_given
      ? { url: MULTIHUB_URL, token: MULTIHUB_TOKEN, ...addressForToken(flags, terminal) }
      : readStored(flags, terminal)
  const account = { url: flags.url ?? other?.url, token: flags.token ?? other?.token }
  if (account.url === undefined || account.token === undefined)
    throw new CommandError(
      2,
      `there is no ${account.url === undefined ? 'address of a back office' : 'token for it'}: run "${OWN_NAME} login", give --url and --token, or run "npm start" in this folder`,
    )
  const is_of_profile = flags.url === undefined || flags.url === other?.url
  const insecure = acceptsInsecure(terminal) || (is_of_profile && other?.insecure === true)
  return { url: account.url.replace(/\/+$/, ''), token: account.token, ...(insecure && { insecure }) }
}

/**
 * The address for a token of the environment that has none: a profile's, or a local run's. A folder that somebody else filled cannot
 * send the token to another machine.
 */
function addressForToken(
  flags: CommonFlags,
  terminal: Terminal,
): Pick<PartialAccount, 'url' | 'insecure'> | undefined {
  const { MULTIHUB_URL, MULTIHUB_TOKEN } = terminal.variables
  if (flags.url !== undefined || MULTIHUB_URL !== undefined || MULTIHUB_TOKEN === undefined) return undefined
  const { url, insecure, is_of_folder = false } = readStored(flags, terminal) ?? {}
  if (url === undefined || (is_of_folder && !isThisMachine(url))) return undefined
  return { url, insecure }
}

/** Whether `MULTIHUB_INSECURE` accepts addresses without encryption, such as for a job in a cluster, which has no profile. */
export function acceptsInsecure({ variables }: Pick<Terminal, 'variables'>): boolean {
  return variables['MULTIHUB_INSECURE'] === 'true'
}

/** What a place gives of an account. */
interface PartialAccount {
  readonly url?: string | undefined
  readonly token?: string | undefined
  readonly insecure?: boolean | undefined
  /** Whether it is of `demo.json`, which lies in the folder of the command and not in the home of the person. */
  readonly is_of_folder?: boolean
}

function readStored({ profile }: CommonFlags, terminal: Terminal): PartialAccount | undefined {
  const name = profile ?? terminal.variables['MULTIHUB_PROFILE']
  const profiles = readJson(profilesPath(terminal)) ?? {}
  const found = profiles[name ?? 'default']
  if (found !== undefined) return found
  if (name !== undefined)
    throw new CommandError(2, `there is no profile ${name}: run "${OWN_NAME} login --profile ${name}"`)
  const home = terminal.variables['MULTIHUB_HOME'] ?? join(terminal.directory, '.local')
  const demo = readJson(join(home, 'demo.json'))
  const operator = demo?.['operator']
  return demo && { url: demo['backoffice_url'], token: operator?.token, is_of_folder: true }
}

/** Keeps an account as a profile, in a file that no other user can read. The others in the file stay. */
export function writeProfile(name: string, account: Account, terminal: Terminal): void {
  writeProfiles({ ...readJson(profilesPath(terminal)), [name]: account }, terminal)
}

/** The account of a profile, or `undefined` when there is none. */
export function readProfile(name: string, terminal: Terminal): Account | undefined {
  return readJson(profilesPath(terminal))?.[name]
}

/** Forgets a profile. Returns what it was, or `undefined` when there was none. */
export function removeProfile(name: string, terminal: Terminal): Account | undefined {
  const { [name]: removed, ...others } = readJson(profilesPath(terminal)) ?? {}
  if (removed !== undefined) writeProfiles(others, terminal)
  return removed
}

function writeProfiles(profiles: object, terminal: Terminal): void {
  replaceFile(profilesPath(terminal), `${JSON.stringify(profiles, null, 2)}\n`)
}

// biome-ignore lint/suspicious/noExplicitAny: what a file of JSON holds is checked where it is used
function readJson(path: string): Record<string, any> | undefined {
  const text = readIfThere(path)
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch (error) {
    throw new CommandError(2, `${path} is not valid JSON: mend it, or remove it`, { cause: error })
  }
}

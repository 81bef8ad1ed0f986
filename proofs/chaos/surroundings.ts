import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROLES_WITHOUT_BUS, type RoleName } from '#lib/role/role.ts'
import { type Fleet, startFleet } from '../../test/support/fleet/fleet.ts'
import { CLEAN, startScriptedClamd } from '../../test/support/scripted-clamd.ts'
import { startPrivateNats } from '../../test/support/servers.ts'
import type { Variables } from '../../test/support/system-settings.ts'
import { INFECTION } from '../simulation/world/scanner.ts'
import { type Link, openLink } from './faults/links.ts'
import type { PrivateServers } from './faults/server-faults.ts'
import { startGuard } from './servers/guard.ts'
import { makeServersFolder, startPrivateMongodb } from './servers/private-mongodb.ts'

/** The stores on which a system can run. */
export const STORES = ['embedded', 'mongodb'] as const

/** The name of a store. */
export type StoreName = (typeof STORES)[number]

/** Which processes a run has. */
export interface Form {
  readonly store: StoreName
  /** Three processes of the roles that every payment needs, each with a way of its own to each server, which can break. */
  readonly is_many: boolean
}

const BUSY_ROLES: readonly RoleName[] = ['gateway', 'payments', 'balances', 'notifier']

/** The sandbox is the only provider. */
function copiesOf(role: RoleName, is_many: boolean): number {
  if (role === 'sandbox') return 1
  return is_many && BUSY_ROLES.includes(role) ? 3 : 2
}

/** Short limits, so that a run of a minute reaches them: P5, and how long amounts that end in 903 get no response. */
const VARIABLES: Variables = {
  MULTIHUB_CREATE_TIMEOUT: '3s',
  MULTIHUB_SANDBOX_SILENCE: '6s',
  MULTIHUB_LOG_LEVEL: 'warn',
}

/** A running system with servers of its own. */
export interface Surroundings {
  readonly fleet: Fleet
  readonly servers: PrivateServers
  /** The ways of the processes to the servers, in the form with many processes. */
  readonly links: readonly Link[]
  /** The directory of the logs, and of the embedded store. */
  readonly directory: string
  /** Ends all processes and deletes all directories, but keeps the one with the logs if asked to. */
  end(keep_logs: boolean): Promise<void>
}

/** Starts the servers and the processes of a run. Without a nats-server program one process has all roles. */
export async function startSurroundings(
  { store, is_many }: Form,
  onProblem: (problem: string) => void,
  print: (line: string) => void,
): Promise<Surroundings> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-chaos-'))
  const folder = store === 'mongodb' ? await makeServersFolder() : undefined
  const guard = startGuard(directory, folder)
  const ends: (() => Promise<void>)[] = []
  // The guard stops MongoDB, and deletes the directories.
  const end = async (keep_logs: boolean): Promise<void> => {
    for (const each of ends.toReversed()) await each()
    await guard.end(keep_logs)
  }
  try {
    const nats = await startPrivateNats(undefined, directory)
    if ('skip' in nats) print(`  one process with all roles, because ${nats.skip}`)
    else ends.push(nats.stop)
    const nats_url = 'skip' in nats ? undefined : nats.url
    const mongodb = folder === undefined ? undefined : await startPrivateMongodb(folder)
    const clamd = await startScriptedClamd()
    ends.push(clamd.close)
    clamd.behave((socket) => {
      const is_infected = clamd.received.at(-1)?.includes(INFECTION)
      socket.end(is_infected ? 'stream: Simulated FOUND\0' : CLEAN)
    })
    const variables = { ...VARIABLES, MULTIHUB_SCANNER: clamd.address }
    const links: Link[] = []
    ends.push(async () => void (await Promise.all(links.map(({ proxy }) => proxy.cut()))))
    const linksOf = async (process: string, role: RoleName): Promise<Variables> => {
      const own: Record<string, string> = {}
      const servers = {
        MONGODB_URI: mongodb?.uri,
        NATS_URL: ROLES_WITHOUT_BUS.includes(role) ? undefined : nats_url,
      }
      for (const [variable, url] of Object.entries(servers)) {
        if (url === undefined) continue
        const [link, link_url] = await openLink(process, variable === 'NATS_URL' ? 'nats' : 'ferretdb', url)
        links.push(link)
        own[variable] = link_url
      }
      return own
    }
    const fleet = await startFleet(
      {
        directory,
        nats_url,
        mongodb_uri: mongodb?.uri,
        copies: (role) => copiesOf(role, is_many),
        variables,
        ...(is_many ? { variablesOf: linksOf } : {}),
      },
      { onUnexpectedEnd: (place, text) => onProblem(`${place} ${text}`) },
    )
    ends.push(fleet.end)
    const servers = { nats: 'skip' in nats ? undefined : nats, mongodb }
    return { fleet, servers, links, directory, end }
  } catch (error) {
    await end(false)
    throw error
  }
}

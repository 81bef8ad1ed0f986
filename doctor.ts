import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError } from '#lib/platform/config/config.ts'
import { readBuildInfo } from '#lib/platform/process/build-info.ts'
import { type ProcessConfig, readProcessSettings } from '#lib/platform/process/process-settings.ts'
import { reach } from '#lib/platform/process/reach.ts'
import { ROLES, type Role } from '#lib/platform/process/role.ts'
import type { CommandOutput } from '#lib/platform/process/run.ts'
import { explainStartError, problemsText, StartError } from '#lib/platform/process/start-error.ts'
import { addressesOf } from '#lib/platform/rpc/settings.ts'
import { readDeclarations } from '#lib/platform/store/declarations.ts'
import { openStore } from '#lib/platform/store/open.ts'
import { findRetiredIndexes } from '#lib/platform/store/retired-indexes.ts'
import type { Store } from '#lib/platform/store/store.ts'
import { clock } from '#lib/platform/time.ts'
import { retiredText } from './migrate.ts'
import { databaseOf, loadRoles, openProcessBus, parseRoleNames } from './roles.ts'

/** One part of the environment. `run` returns what it found, or throws an error that says what to do. */
interface Check {
  readonly subject: string
  run(): Promise<string>
}

const NODE_MAJOR_MIN = 24
const REACH_LIMIT_MS = 5_000
/** Less than the 5 seconds at which a process stops working, so that there is time to act. */
const CLOCK_OFFSET_MAX_MS = 1_000
const FREE_BYTES_MIN = 1e9

/**
 * `node main.ts doctor [ROLE...]`: looks at everything that these roles (by default all) need in this environment, and
 * prints one line for each: settings, versions, databases with their indexes, clocks and keys, the bus, other processes,
 * and the collector of traces. It changes nothing. Throws `StartError` when something is wrong.
 */
export async function diagnose(
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  { printLine }: CommandOutput,
): Promise<void> {
  const roles = await loadRoles(parseRoleNames(words.length === 0 ? ['all'] : words))
  const config = await readSettings(roles, variables, printLine)
  let problems = 0
  for (const { subject, run } of [VERSIONS, ...storeChecks(roles, config), ...otherChecks(config)]) {
    try {
      printLine(`ok       ${subject}: ${await run()}`)
    } catch (error) {
      problems += 1
      printLine(`PROBLEM  ${subject}: ${explainStartError(error).replace(/^cannot start: /, '')}`)
    }
  }
  if (problems > 0) throw new StartError(problemsText(problems))
}

async function readSettings(
  roles: readonly Role[],
  variables: Readonly<Record<string, string | undefined>>,
  printLine: CommandOutput['printLine'],
): Promise<ProcessConfig> {
  try {
    const config = await readProcessSettings(roles, variables, {
      is_local_run: false,
      readOtherSchemas: async () => (await loadRoles(ROLES)).map(({ settings }) => settings),
    })
    printLine(`ok       settings: of ${roles.map(({ name }) => name).join(', ')}`)
    return config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems) printLine(`PROBLEM  settings: ${problem}`)
    throw new StartError(
      `${problemsText(error.problems.length)}; correct the settings, then the rest can be checked`,
    )
  }
}

const VERSIONS: Check = {
  subject: 'versions',
  async run() {
    const { version } = readBuildInfo()
    if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN)
      throw new StartError(`Node.js ${process.versions.node} is too old: use ${NODE_MAJOR_MIN} or newer`)
    return `Multihub ${version}, Node.js ${process.versions.node}`
  },
}

function storeChecks(roles: readonly Role[], config: ProcessConfig): readonly Check[] {
  if (config.mongodb_uri !== undefined) return roles.map((role) => databaseCheck(role, config))
  return [filesCheck(config.home), ...roles.map((role) => databaseCheck(role, config))]
}

/** The database of a role: whether it answers, is complete, has the right time, and was encrypted with these keys. */
function databaseCheck(role: Role, config: ProcessConfig): Check {
  const { system_name, mongodb_uri, home, keyring, mongodb_connections: connections_max } = config
  const database = databaseOf(system_name, role.name)
  const directory = join(home, 'data')
  return {
    subject: `database ${database}`,
    async run() {
      if (mongodb_uri === undefined && !(await exists(join(directory, database))))
        return 'made at the first start'
      const store = await openStore({ database, mongodb_uri, connections_max, directory, schema: 'verify' })
      try {
        await role.openCollections(store)
        await role.checkKeys?.(store, keyring)
        const keys = role.checkKeys === undefined ? '' : 'the keys fit, '
        return `complete, ${keys}${await compareClocks(store)}${await findRetired(role, config)}`
      } finally {
        await store.close()
      }
    },
  }
}

/** Names the indexes that no declaration has any more. They cost space and writes, but are not a problem. */
async function findRetired(role: Role, { mongodb_uri, system_name }: ProcessConfig): Promise<string> {
  if (mongodb_uri === undefined) return ''
  const database = databaseOf(system_name, role.name)
  const declarations = await readDeclarations(role.openCollections)
  const place = { mongodb_uri, database, declarations, start_wait: { limit_ms: 0 } }
  const retired = await findRetiredIndexes(place, { drops: false })
  return retired.length === 0 ? '' : `, ${retiredText(retired, false)}`
}

async function compareClocks(store: Store): Promise<string> {
  const sent_ms = clock.now_ms()
  const store_ms = (await store.readClock()).getTime()
  const received_ms = clock.now_ms()
  const offset_ms = Math.round((sent_ms + received_ms) / 2 - store_ms)
  if (Math.abs(offset_ms) > CLOCK_OFFSET_MAX_MS + (received_ms - sent_ms) / 2)
    throw new StartError(
      `the clock of this machine differs by ${offset_ms} ms from the database: synchronize both`,
    )
  return `its clock differs by ${offset_ms} ms`
}

/** The directory of the embedded files: whether this user may write there, and whether there is room. */
function filesCheck(home: string): Check {
  return {
    subject: `directory ${home}`,
    async run() {
      let existing = home
      while (!(await exists(existing))) existing = dirname(existing)
      await access(existing, constants.W_OK)
      const { bavail, bsize } = await statfs(existing)
      if (bavail * bsize < FREE_BYTES_MIN)
        throw new StartError('less than 1 GB is free: make room, because writes fail when the disk is full')
      return `${Math.floor((bavail * bsize) / 1e9)} GB are free`
    },
  }
}

function otherChecks(config: ProcessConfig): readonly Check[] {
  const addresses = [...addressesOf(config)].map(([role, address]): Check => {
    const at = address.lastIndexOf(':')
    const host = address.slice(0, at).replace(/^\[|\]$/g, '')
    return {
      subject: `${role} at ${address}`,
      async run() {
        const advice = `start that role, or correct MULTIHUB_${role.toUpperCase()}_ADDRESS`
        return await findListener(host, Number(address.slice(at + 1)), advice)
      },
    }
  })
  return [
    ...(config.nats_url === undefined ? [] : [busCheck(config)]),
    ...addresses,
    ...(config.otlp_endpoint === undefined ? [] : [collectorCheck(config.otlp_endpoint)]),
  ]
}

/** Throws `StartError` with the advice when nothing listens. */
async function findListener(host: string, port: number, advice: string): Promise<string> {
  try {
    await reach(host, port, REACH_LIMIT_MS)
  } catch (error) {
    throw new StartError(`${error instanceof Error ? error.message : error}: ${advice}`)
  }
  return 'something listens'
}

/** A process also works while the collector is down, so only doctor says that traces go nowhere. */
function collectorCheck(endpoint: string): Check {
  const { hostname, port, protocol } = new URL(endpoint)
  const default_port = protocol === 'https:' ? 443 : 80
  return {
    subject: `collector ${endpoint}`,
    run: () =>
      findListener(
        hostname.replace(/^\[|\]$/g, ''),
        port === '' ? default_port : Number(port),
        'start the collector of traces, or correct OTEL_EXPORTER_OTLP_ENDPOINT',
      ),
  }
}

function busCheck(config: ProcessConfig): Check {
  return {
    subject: 'NATS',
    async run() {
      const bus = await openProcessBus(config, 'doctor', { limit_ms: 0 })
      await bus.close()
      return 'connected'
    },
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

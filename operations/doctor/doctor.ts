import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError } from '#lib/base/config/config.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { StartError } from '#lib/base/start-error.ts'
import { clock, withTimeout } from '#lib/base/time.ts'
import { openTls, TLS_RELOAD_MS, type Tls } from '#lib/http/tls.ts'
import { type EnvironmentCheck, type Finding, ok, warning } from '#lib/role/environment-check.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { ROLES, type Role } from '#lib/role/role.ts'
import { readDeclarations } from '#lib/store/declarations.ts'
import { findRetiredIndexes, openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { readBuildInfo } from '../../app/build-info.ts'
import { explainStartError, problemsText } from '../../app/explain-start-error.ts'
import { type ProcessConfig, readProcessSettings } from '../../app/process-settings.ts'
import { databaseOf, loadRoles, openProcessBus, parseRoleNames } from '../../app/roles.ts'
import type { CommandOutput } from '../../app/run.ts'
import { loadOperations } from '../load-operations.ts'
import { retiredText } from '../migrate.ts'
import { busCertificateChecks } from './bus-certificates.ts'
import { certificateFileChecks } from './check-certificate-files.ts'
import { collectorChecks } from './check-collector.ts'
import { peerChecks } from './check-peers.ts'
import { databaseCertificateChecks } from './database-certificates.ts'

/** One line of the report. */
interface ReportLine {
  readonly status: 'ok' | 'warning' | 'problem'
  readonly subject: string
  readonly text: string
}

const LABELS = { ok: 'ok      ', warning: 'WARNING ', problem: 'PROBLEM ' } as const
const JSON_WORD = '--json'
const NODE_MAJOR_MIN = 24
/** How long a message over NATS may take to come back. */
const BUS_LIMIT_MS = 5_000
/** Less than the 5 seconds at which a process stops working, so that there is time to act. */
const CLOCK_OFFSET_MAX_MS = 1_000
const FREE_BYTES_MIN = 1e9

/** No check takes longer. The scan of the largest file may take 20 seconds. */
const CHECK_LIMIT_MS = 30_000

/**
 * `node main.ts doctor [--json] [ROLE...]`: looks at everything that these roles (by default all) need in this environment,
 * at the same time, and prints one line for each part, or with `--json` one document. It changes nothing, shows no secret
 * and starts no payment. Throws `StartError` when something is wrong; a warning is not an error.
 */
export async function diagnose(
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  { printLine }: CommandOutput,
): Promise<void> {
  const names = words.filter((word) => word !== JSON_WORD)
  const role_names = parseRoleNames(names.length === 0 ? ['all'] : names)
  const settings = await readSettings(await loadRoles(role_names), variables)
  const lines =
    'problems' in settings
      ? settings.problems
      : await examine(await loadOperations(role_names), variables, settings)
  if (words.includes(JSON_WORD)) printLine(JSON.stringify({ findings: lines }))
  else for (const { status, subject, text } of lines) printLine(`${LABELS[status]} ${subject}: ${text}`)
  const problems = lines.filter(({ status }) => status === 'problem').length
  if (problems === 0) return
  const rest = 'problems' in settings ? '; correct the settings, then the rest can be checked' : ''
  throw new StartError(problemsText(problems) + rest)
}

/** The settings of the process with the files that they name, or what is wrong with them. */
type SettingsReading =
  | { readonly config: ProcessConfig; readonly tls: Tls | undefined }
  | { readonly problems: readonly ReportLine[] }

async function readSettings(
  roles: readonly Role[],
  variables: Readonly<Record<string, string | undefined>>,
): Promise<SettingsReading> {
  try {
    const config = await readProcessSettings(roles, variables, {
      is_local_run: false,
      readOtherSchemas: async () => (await loadRoles(ROLES)).map(({ settings }) => settings),
    })
    const files = { key: config.tls_key, certificate: config.tls_certificate, ca: config.tls_ca }
    return { config, tls: await openTls(files, log, TLS_RELOAD_MS) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return {
      problems: error.problems.map((text) => ({ status: 'problem', subject: 'settings', text })),
    }
  }
}

async function examine(
  roles: readonly RoleOperations[],
  variables: Readonly<Record<string, string | undefined>>,
  { config, tls }: Extract<SettingsReading, { readonly config: unknown }>,
): Promise<readonly ReportLine[]> {
  const names: readonly string[] = roles.map(({ name }) => name)
  const context = { variables, tls, runs: (role: string) => names.includes(role) }
  const checks = [
    { subject: 'settings', run: async () => ok(`of ${names.join(', ')}`) },
    VERSIONS,
    ...storeChecks(roles, config),
    ...busChecks(config),
    ...(await databaseCertificateChecks(config.mongodb_uri)),
    ...certificateFileChecks({
      MULTIHUB_TLS_CERTIFICATE: config.tls_certificate,
      MULTIHUB_TLS_CA: config.tls_ca,
      NATS_TLS_CERTIFICATE: config.nats_tls_certificate,
      NATS_TLS_CA: config.nats_tls_authority,
    }),
    // The sandbox calls no process and has no token.
    ...(names.some((name) => name !== 'sandbox') ? peerChecks(config, tls) : []),
    ...roles.flatMap((role) => role.environmentChecks?.(context) ?? []),
    ...collectorChecks(config),
  ]
  const lines = await Promise.all(checks.map(report))
  tls?.close()
  return lines
}

async function report({ subject, run }: EnvironmentCheck): Promise<ReportLine> {
  try {
    const finding = await withTimeout(run(), CHECK_LIMIT_MS)
    if (finding === undefined) throw new StartError(`no answer within ${CHECK_LIMIT_MS / 1_000} s`)
    return { ...finding, subject }
  } catch (error) {
    const text = error instanceof ConfigError ? error.problems.join('; ') : explainStartError(error)
    const line = text.replace(/^cannot start: /, '').replace(/\s*\n\s*/g, ' ')
    return { status: 'problem', subject, text: line }
  }
}

const VERSIONS: EnvironmentCheck = {
  subject: 'versions',
  async run() {
    const { version } = readBuildInfo()
    if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN)
      throw new StartError(`Node.js ${process.versions.node} is too old: use ${NODE_MAJOR_MIN} or newer`)
    return ok(`Multihub ${version}, Node.js ${process.versions.node}`)
  },
}

function storeChecks(roles: readonly RoleOperations[], config: ProcessConfig): readonly EnvironmentCheck[] {
  if (config.mongodb_uri !== undefined) return roles.map((role) => databaseCheck(role, config))
  return [filesCheck(config.home), ...roles.map((role) => databaseCheck(role, config))]
}

/** The database of a role: whether it answers, is complete, has the right time, and was encrypted with these keys. */
function databaseCheck(role: RoleOperations, config: ProcessConfig): EnvironmentCheck {
  const { system_name, mongodb_uri, home, keyring, mongodb_connections: connections_max } = config
  const database = databaseOf(system_name, role.name)
  const directory = join(home, 'data')
  return {
    subject: `database ${database}`,
    async run() {
      if (mongodb_uri === undefined && !(await exists(join(directory, database))))
        return ok('made at the first start')
      const store = await openStore({ database, mongodb_uri, connections_max, directory, schema: 'verify' })
      try {
        await role.openCollections(store)
        await role.checkKeys?.(store, keyring)
        const keys = role.checkKeys === undefined ? '' : 'the keys fit, '
        return ok(`complete, ${keys}${await compareClocks(store)}${await findRetired(role, config)}`)
      } finally {
        await store.close()
      }
    },
  }
}

/** Names the indexes that no declaration has any more. They cost space and writes, but are not a problem. */
async function findRetired(
  role: RoleOperations,
  { mongodb_uri, system_name }: ProcessConfig,
): Promise<string> {
  if (mongodb_uri === undefined) return ''
  const database = databaseOf(system_name, role.name)
  const declarations = await readDeclarations(role.openCollections)
  const place = { mongodb_uri, database, declarations, start_wait: { limit_ms: 0 } }
  const retired = await findRetiredIndexes(place)
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
function filesCheck(home: string): EnvironmentCheck {
  return {
    subject: `directory ${home}`,
    async run() {
      let existing = home
      while (!(await exists(existing))) existing = dirname(existing)
      await access(existing, constants.W_OK)
      const { bavail, bsize } = await statfs(existing)
      if (bavail * bsize < FREE_BYTES_MIN)
        throw new StartError('less than 1 GB is free: make room, because writes fail when the disk is full')
      return ok(`${Math.floor((bavail * bsize) / 1e9)} GB are free`)
    },
  }
}

function busChecks(config: ProcessConfig): readonly EnvironmentCheck[] {
  if (config.nats_url === undefined) return []
  const { nats_tls_authority: authority, nats_tls_certificate: certificate, nats_tls_key: key } = config
  const certificates = busCertificateChecks(config.nats_url, { authority, certificate, key })
  return [{ subject: 'NATS', run: () => checkBus(config) }, ...certificates]
}

/** Connects with the credentials and TLS of the process, and sends a message to itself. */
async function checkBus(config: ProcessConfig): Promise<Finding> {
  const bus = await openProcessBus(config, 'doctor', { limit_ms: 0 })
  try {
    const { promise: received, resolve } = Promise.withResolvers<true>()
    const subject = `doctor.${randomHex(8)}`
    const subscription = await bus.subscribe(subject, () => resolve(true))
    await bus.publish(subject, new Uint8Array())
    const came_back = await withTimeout(received, BUS_LIMIT_MS)
    await subscription.close()
    if (came_back) return ok('carries messages')
    return warning(
      `connected, but a message did not come back: permit this user to publish and subscribe to ${config.system_name}.>`,
    )
  } finally {
    await bus.close()
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

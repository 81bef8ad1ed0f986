import { z } from 'zod'
import {
  type Config,
  ConfigError,
  type ConfigSchema,
  describedSetting,
  optionalSetting,
  readConfig,
  setting,
  unknownVariables,
  type Variables,
} from '#lib/base/config/config.ts'
import { KEY_SETTINGS, keyProblems } from '#lib/base/config/key-settings.ts'
import {
  booleanSetting,
  choiceSetting,
  directorySetting,
  durationSetting,
  integerSetting,
  portSetting,
  secretSetting,
  textSetting,
} from '#lib/base/config/settings.ts'
import { CALLBACK_ALLOW_SETTING } from '#lib/http/callback-host.ts'
import { KEY_PURPOSES, ROLES, ROLES_WITHOUT_BUS, type Role } from '#lib/role/role.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import { MONGODB_CONNECTIONS } from '#lib/store/open.ts'
import { LOG_LEVELS } from '#lib/telemetry/log.ts'
import { TRACING_SETTINGS } from '#lib/telemetry/tracing.ts'
import { NO_SCANNER, SCANNER_SETTING } from '../services/attachments/scanner/clamd.ts'

/** An optional secret, such as a URL with a password. */
const optionalSecret = (variable: string, purpose: string) =>
  describedSetting(purpose, optionalSetting(secretSetting(variable)))

const optionalText = (variable: string, purpose: string) =>
  describedSetting(purpose, optionalSetting(textSetting(variable)))

/** The infrastructure that all processes of a system share. */
const INFRASTRUCTURE_SETTINGS = {
  mongodb_uri: optionalSecret(
    'MONGODB_URI',
    'The database: a MongoDB replica set or sharded cluster. Without it, state is kept in embedded files.',
  ),
  mongodb_connections: describedSetting(
    'The most connections of one role to each MongoDB server. Writes use at most 80 % of them, and one is kept for heartbeats.',
    integerSetting('MULTIHUB_MONGODB_CONNECTIONS', { min: 5, max: 1_000, fallback: MONGODB_CONNECTIONS }),
  ),
  nats_url: optionalSecret(
    'NATS_URL',
    'The NATS server over which processes exchange events. One process with all roles needs none.',
  ),
  nats_credentials: optionalSecret(
    'NATS_CREDENTIALS',
    'The content of a NATS credentials file (.creds), for servers that use JWTs.',
  ),
  nats_tls_authority: optionalText(
    'NATS_TLS_CA',
    'The PEM file of the certificate authority of the NATS servers. With it, NATS uses TLS.',
  ),
  nats_tls_certificate: optionalText(
    'NATS_TLS_CERTIFICATE',
    'The PEM file of the client certificate for NATS servers that require one.',
  ),
  nats_tls_key: optionalText('NATS_TLS_KEY', 'The PEM file of the key for that certificate.'),
  embedded_store: describedSetting(
    'Allows embedded files in Kubernetes, which are refused there by default.',
    booleanSetting('MULTIHUB_EMBEDDED_STORE', false),
  ),
  kubernetes: optionalText(
    'KUBERNETES_SERVICE_HOST',
    'Set by Kubernetes itself. It shows that the process runs there.',
  ),
} as const

/** A name that can begin the name of a MongoDB database, and that can be a token of a NATS subject. */
const SYSTEM_NAME = setting(
  'MULTIHUB_SYSTEM_NAME',
  'a name of up to 20 of a-z 0-9 _ - that begins with a letter',
  z.string().regex(/^[a-z][a-z0-9_-]{0,19}$/),
  { value: 'multihub', text: 'multihub' },
)

/** The settings of every process, whichever roles it runs. */
export const PROCESS_SETTINGS = {
  home: describedSetting('The directory of the embedded files.', directorySetting('MULTIHUB_HOME', '.local')),
  ...INFRASTRUCTURE_SETTINGS,
  archive: describedSetting(
    'The directory of the files to which `archive` has moved the bodies of old payments and ledger batches, for the processes of `payments` and `balances`. They only read it.',
    optionalSetting(textSetting('MULTIHUB_ARCHIVE')),
  ),
  system_name: describedSetting(
    'The name of the system. It begins its database names and NATS subjects, so that several systems can share servers.',
    SYSTEM_NAME,
  ),
  ...KEY_SETTINGS,
  log_level: describedSetting(
    'The lowest level that is logged.',
    choiceSetting('MULTIHUB_LOG_LEVEL', LOG_LEVELS, 'info'),
  ),
  start_wait_ms: describedSetting(
    'How long a start waits for a database or NATS server that does not answer yet.',
    durationSetting('MULTIHUB_START_WAIT', { min: 0, max: 3_600_000, fallback: 60_000 }),
  ),
  drain_ms: describedSetting(
    'How long a process still takes requests after SIGTERM, so that load balancers can notice.',
    durationSetting('MULTIHUB_DRAIN', { min: 0, max: 600_000, fallback: 0 }),
  ),
  health_port: describedSetting(
    'The port of health, readiness and metrics.',
    portSetting('MULTIHUB_HEALTH_PORT', 9094),
  ),
  ...RPC_SETTINGS,
  ...TRACING_SETTINGS,
} as const

/** The settings of `npm start` itself. No other process opens this port, so it may be in use where roles start. */
export const LOCAL_SETTINGS = {
  reference_port: describedSetting(
    'The port of the API reference with its panel, on 127.0.0.1.',
    portSetting('MULTIHUB_REFERENCE_PORT', 9098),
  ),
} as const

/** The values of the settings of every process. */
export type ProcessConfig = Config<typeof PROCESS_SETTINGS>

/** The variables of the test scripts, which may be set in the shell of a developer. */
const TEST_VARIABLES: ConfigSchema = {
  servers_directory: textSetting('MULTIHUB_SERVERS_DIR'),
  ci: textSetting('MULTIHUB_CI'),
  skew_commit: textSetting('MULTIHUB_SKEW_COMMIT'),
}

/**
 * Reads the settings of the process. Throws one `ConfigError` with all problems of the process and of its roles, and with
 * every MULTIHUB_ variable that no role reads (R7). `is_local_run` permits callbacks to addresses that are not public (N9,
 * R4) and no virus scanner (F5). `loadAllRoles` loads the other roles when a variable is unknown to the roles of this
 * process, because processes on one machine may share variables.
 */
export async function readProcessSettings(
  roles: readonly Role[],
  variables: Variables,
  is_local_run: boolean,
  loadAllRoles: () => Promise<readonly Role[]>,
): Promise<ProcessConfig> {
  const problems = new Set<string>()
  const read = <S extends ConfigSchema>(schema: S): Config<S> | undefined => {
    try {
      return readConfig(schema, variables)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      for (const problem of error.problems) problems.add(problem)
      return undefined
    }
  }
  const config = read(PROCESS_SETTINGS)
  for (const { settings } of roles) read(settings)
  const keys = read(KEY_SETTINGS)
  const purposes = new Set(roles.flatMap(({ name }) => KEY_PURPOSES[name]))
  if (keys !== undefined) for (const problem of keyProblems(keys, [...purposes])) problems.add(problem)
  const infrastructure = read(INFRASTRUCTURE_SETTINGS)
  if (infrastructure !== undefined)
    for (const problem of missingInfrastructure(roles, infrastructure)) problems.add(problem)
  for (const variable of await unknownSettings(roles, variables, loadAllRoles))
    problems.add(`${variable} is not a setting: correct its name (docs/operators/settings.md) or remove it`)
  const { variable: callback_allow } = CALLBACK_ALLOW_SETTING
  if (!is_local_run && variables[callback_allow]?.trim())
    problems.add(`${callback_allow} must not be set: only the local run (npm start) permits it`)
  const { variable: scanner } = SCANNER_SETTING
  if (!is_local_run && variables[scanner]?.trim() === NO_SCANNER)
    problems.add(`${scanner} must not be ${NO_SCANNER}: only the local run (npm start) permits it`)
  if (config === undefined || problems.size > 0) throw new ConfigError([...problems])
  return config
}

async function unknownSettings(
  roles: readonly Role[],
  variables: Variables,
  loadAllRoles: () => Promise<readonly Role[]>,
): Promise<readonly string[]> {
  const unknownTo = (some: readonly Role[]): readonly string[] => {
    const schemas = [
      PROCESS_SETTINGS,
      LOCAL_SETTINGS,
      TEST_VARIABLES,
      ...some.map(({ settings }) => settings),
    ]
    return unknownVariables('MULTIHUB_', schemas, variables)
  }
  return unknownTo(roles).length === 0 ? [] : unknownTo(await loadAllRoles())
}

/** Refuses a process that would start without the database or bus that it must share with the others. */
function missingInfrastructure(
  roles: readonly Role[],
  config: Config<typeof INFRASTRUCTURE_SETTINGS>,
): readonly string[] {
  const problems = []
  const needs_bus = roles.some(({ name }) => !ROLES_WITHOUT_BUS.includes(name))
  if (roles.length < ROLES.length && needs_bus && config.nats_url === undefined) {
    problems.push('NATS_URL is missing: roles in several processes exchange events over NATS')
  }
  if (config.kubernetes !== undefined && config.mongodb_uri === undefined && !config.embedded_store) {
    problems.push(
      'MONGODB_URI is missing: set it, or set MULTIHUB_EMBEDDED_STORE=true to use embedded files in Kubernetes',
    )
  }
  return problems
}

import { z } from 'zod'
import {
  type Config,
  ConfigError,
  type ConfigSchema,
  describedSetting,
  inFileSetting,
  optionalSetting,
  readConfig,
  setting,
  unknownVariables,
  type Variables,
} from '#lib/base/config/config.ts'
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
import { createKeyring, type Keyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { CALLBACK_ALLOW_SETTING } from '#lib/http/callback-host.ts'
import { ROLES, type Role } from '#lib/role/role.ts'
import { RPC_SETTINGS } from '#lib/rpc/settings.ts'
import { MONGODB_CONNECTIONS } from '#lib/store/open.ts'
import { LOG_LEVELS } from '#lib/telemetry/log.ts'
import { TRACING_SETTINGS } from '#lib/telemetry/tracing.ts'
import { NO_SCANNER, SCANNER_SETTING } from '../services/attachments/scanner/clamd.ts'

/** The infrastructure that all processes of a system share. */
const INFRASTRUCTURE_SETTINGS = {
  mongodb_uri: describedSetting(
    'The database: a MongoDB replica set or sharded cluster. Without it, state is kept in embedded files.',
    optionalSetting(secretSetting('MONGODB_URI')),
  ),
  mongodb_connections: describedSetting(
    'The most connections of one role to each MongoDB server. Writes use at most 80 % of them.',
    integerSetting('MULTIHUB_MONGODB_CONNECTIONS', { min: 5, max: 1_000, fallback: MONGODB_CONNECTIONS }),
  ),
  nats_url: describedSetting(
    'The NATS server over which processes exchange events. One process with all roles needs none.',
    optionalSetting(secretSetting('NATS_URL')),
  ),
  nats_credentials: describedSetting(
    'The content of a NATS credentials file (.creds), for servers that use JWTs.',
    optionalSetting(secretSetting('NATS_CREDENTIALS')),
  ),
  nats_tls_authority: describedSetting(
    'The PEM file of the certificate authority of the NATS servers. With it, NATS uses TLS.',
    optionalSetting(textSetting('NATS_TLS_CA')),
  ),
  nats_tls_certificate: describedSetting(
    'The PEM file of the client certificate for NATS servers that require one.',
    optionalSetting(textSetting('NATS_TLS_CERTIFICATE')),
  ),
  nats_tls_key: describedSetting(
    'The PEM file of the key for that certificate.',
    optionalSetting(textSetting('NATS_TLS_KEY')),
  ),
  embedded_store: describedSetting(
    'Allows embedded files in Kubernetes, which are refused there by default.',
    booleanSetting('MULTIHUB_EMBEDDED_STORE', false),
  ),
  kubernetes: describedSetting(
    'Set by Kubernetes itself. It shows that the process runs there.',
    optionalSetting(textSetting('KUBERNETES_SERVICE_HOST')),
  ),
} as const

const MASTER_KEYS = inFileSetting(
  setting<Keyring>(
    'MULTIHUB_MASTER_KEYS',
    'keys such as 2026a:64-hex-digits, separated by commas, the newest first, each id once',
    z.string().transform((keys, { addIssue }) => {
      try {
        return createKeyring(new Secret(keys))
      } catch {
        addIssue('not master keys')
        return z.NEVER
      }
    }),
  ),
)

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
  system_name: describedSetting(
    'The name of the system. It begins its database names and NATS subjects, so that several systems can share servers.',
    SYSTEM_NAME,
  ),
  keyring: describedSetting('Encrypts stored secrets; see Keys.', MASTER_KEYS),
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

/** The values of the settings of every process. */
export type ProcessConfig = Config<typeof PROCESS_SETTINGS>

/** The variables of the test scripts, which may be set in the shell of a developer. */
const TEST_VARIABLES: ConfigSchema = {
  servers_directory: textSetting('MULTIHUB_SERVERS_DIR'),
  ci: textSetting('MULTIHUB_CI'),
  skew_commit: textSetting('MULTIHUB_SKEW_COMMIT'),
}

/** How the settings of a process are judged. */
export interface ProcessSettingsRules {
  /** Permits what only a local run may have: callbacks to addresses that are not public (N9, R4), and no virus scanner (F5). */
  readonly is_local_run: boolean
  /**
   * Loads the settings of the other roles, because processes on one machine may share variables. It is called only when a
   * variable is unknown to the roles of this process.
   */
  readonly readOtherSchemas: () => Promise<readonly ConfigSchema[]>
}

/**
 * Reads the settings of the process. Throws one `ConfigError` with all problems of the process and of its roles, and with
 * every MULTIHUB_ variable that no role reads (R7).
 */
export async function readProcessSettings(
  roles: readonly Role[],
  variables: Variables,
  { is_local_run, readOtherSchemas }: ProcessSettingsRules,
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
  const infrastructure = read(INFRASTRUCTURE_SETTINGS)
  if (infrastructure !== undefined)
    for (const problem of missingInfrastructure(roles, infrastructure)) problems.add(problem)
  for (const variable of await unknownSettings(roles, variables, readOtherSchemas))
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
  readOtherSchemas: () => Promise<readonly ConfigSchema[]>,
): Promise<readonly string[]> {
  const schemas = [PROCESS_SETTINGS, TEST_VARIABLES, ...roles.map(({ settings }) => settings)]
  const unknown = unknownVariables('MULTIHUB_', schemas, variables)
  if (unknown.length === 0) return unknown
  return unknownVariables('MULTIHUB_', [...schemas, ...(await readOtherSchemas())], variables)
}

/** Refuses a process that would start without the database or bus that it must share with the others. */
function missingInfrastructure(
  roles: readonly Role[],
  config: Config<typeof INFRASTRUCTURE_SETTINGS>,
): readonly string[] {
  const problems = []
  const is_sandbox_only = roles.length === 1 && roles[0]?.name === 'sandbox'
  if (roles.length < ROLES.length && !is_sandbox_only && config.nats_url === undefined) {
    problems.push('NATS_URL is missing: roles in several processes exchange events over NATS')
  }
  if (config.kubernetes !== undefined && config.mongodb_uri === undefined && !config.embedded_store) {
    problems.push(
      'MONGODB_URI is missing: set it, or set MULTIHUB_EMBEDDED_STORE=true to use embedded files in Kubernetes',
    )
  }
  return problems
}

import { readBuildInfo } from '#lib/base/build-info.ts'
import { ConfigError, type Variables } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import { withTimeout } from '#lib/base/time.ts'
import { openTls, TLS_RELOAD_MS } from '#lib/http/tls.ts'
import { type EnvironmentCheck, ok } from '#lib/role/environment-check.ts'
import type { RoleName } from '#lib/role/role.ts'
import { log } from '#lib/telemetry/log.ts'
import { loadWithSettings, parseRoleNames } from '../../app/roles.ts'
import { type Command, explainStartError, problemsText } from '../../app/run.ts'
import { loadOperations } from '../databases.ts'
import {
  backupChecks,
  busAuthChecks,
  busChecks,
  certificateFileChecks,
  collectorChecks,
  peerChecks,
} from './connection-checks.ts'
import { storeChecks } from './store-checks.ts'

/** One line of the report. */
interface ReportLine {
  readonly status: 'ok' | 'warning' | 'problem'
  readonly subject: string
  readonly text: string
}

const LABELS = { ok: 'ok      ', warning: 'WARNING ', problem: 'PROBLEM ' } as const
const JSON_WORD = '--json'
const NODE_MAJOR_MIN = 24

/** No check takes longer. The scan of the largest file may take 20 seconds. */
const CHECK_LIMIT_MS = 30_000

/**
 * `main.ts doctor [--json] [ROLE...]`: looks at everything that these roles (by default all) need in this environment,
 * at the same time, and prints one line for each part, or with `--json` one document. It changes nothing, shows no secret
 * and starts no payment. Throws `StartError` when something is wrong; a warning is not an error.
 */
export const diagnose: Command = async (words, variables, { printLine }) => {
  const names = words.filter((word) => word !== JSON_WORD)
  const role_names = parseRoleNames(names.length === 0 ? ['all'] : names)
  let lines: readonly ReportLine[]
  let rest = ''
  try {
    lines = await examine(role_names, variables)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    lines = error.problems.map((text) => ({ status: 'problem', subject: 'settings', text }))
    rest = '; correct the settings, then the rest can be checked'
  }
  if (words.includes(JSON_WORD)) printLine(JSON.stringify({ findings: lines }))
  else for (const { status, subject, text } of lines) printLine(`${LABELS[status]} ${subject}: ${text}`)
  const problems = lines.filter(({ status }) => status === 'problem').length
  if (problems > 0) throw new StartError(problemsText(problems) + rest)
}

/** Runs all checks at once. Throws `ConfigError` with all problems of the settings, and of the files that they name. */
async function examine(names: readonly RoleName[], variables: Variables): Promise<readonly ReportLine[]> {
  const { config } = await loadWithSettings(names, variables)
  const files = { key: config.tls_key, certificate: config.tls_certificate, ca: config.tls_ca }
  const tls = await openTls(files, log, TLS_RELOAD_MS)
  const roles = await loadOperations(names)
  const context = { variables, tls, runs: (role: string) => names.some((name) => name === role) }
  const checks: readonly EnvironmentCheck[] = [
    { subject: 'settings', run: async () => ok(`of ${names.join(', ')}`) },
    VERSIONS,
    ...(await storeChecks(roles, config)),
    ...busChecks(config, names),
    ...busAuthChecks(variables),
    ...backupChecks(config, variables, names),
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

import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Variables } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import { ROLES } from '#lib/role/role.ts'
import type { Lifecycle } from '../app/lifecycle.ts'
import { LOCAL_SETTINGS } from '../app/process-settings.ts'
import { startRoles } from '../app/roles.ts'
import { type ReadyUrls, runProcess } from '../app/run.ts'
import { demonstrationToken, writeDemo } from './demo.ts'
import { localVariables, readDemo } from './local.ts'
import { startReference } from './reference/reference-server.ts'

/**
 * `npm start`: runs the whole system in this process, on embedded files, with demonstration data (R1 to R4). The first start prints
 * the next steps.
 */
export async function startLocal(
  given: Variables,
  lifecycle: Lifecycle,
  print: (text: string) => void,
): Promise<ReadyUrls> {
  const { variables, home, reference_port } = await localVariables(given)
  await refuseWhenRunning(home)
  const { urls: role_urls, operator } = await startRoles(ROLES, variables, lifecycle, {
    schema: 'create',
    is_local_run: true,
    more_ports: LOCAL_SETTINGS,
  })
  const reference = await startReference(reference_port, async () =>
    JSON.parse(await readFile(join(home, 'demo.json'), 'utf8')),
  )
  lifecycle.onStop('the reference', () => reference.close(0))
  const urls = { ...role_urls, reference_url: `http://${reference.host_and_port}/reference` }
  const demo = await readDemo(home)
  const operator_token = await demonstrationToken(operator, demo?.operator.token)
  await writeDemo(home, urls, operator_token, operator)
  if (demo === undefined) print(welcome(home, urls) + (variables['MULTIHUB_SCANNER'] ? '' : WITHOUT_SCANNER))
  return urls
}

const ANSWER_TIMEOUT_MS = 1_000

/**
 * Refuses to start a second system on one home directory, because demo.json holds the addresses of one system only. The
 * check uses the operator's token of this home: another system that now has the old ports does not accept it.
 */
async function refuseWhenRunning(home: string): Promise<void> {
  const demo = await readDemo(home)
  if (demo === undefined) return
  const response = await fetch(`${demo.backoffice_url}/multihub.backoffice.v1.PrincipalService/WhoAmI`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${demo.operator.token}` },
    body: '{}',
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  }).catch(() => undefined)
  if (!response?.ok) return
  throw new StartError(
    `a system already runs on ${home} and serves at ${demo.base_url}: stop it, or set MULTIHUB_HOME to another directory`,
  )
}

/** Shown with the next steps when no virus scanner is configured (F5). */
const WITHOUT_SCANNER = `There is no virus scanner, so uploaded files stay unusable in the status scanning. Start with MULTIHUB_SCANNER=none to
accept files without a scan, or see docs/operators/install.md for a real scanner.

`

/** The next steps, shown at the first start. Programs wait for the line `ready` on standard output instead. */
function welcome(home: string, urls: ReadyUrls): string {
  const elsewhere = relative(process.cwd(), home) === '.local' ? '' : `MULTIHUB_HOME='${home}' `
  return `
Multihub serves at ${urls['base_url']}. Two merchants to try it with, their secrets and
the operator's token are in ${join(home, 'demo.json')}. In another terminal:

  eval "$(${elsewhere}node scripts/credentials.mjs)"
  curl "$BACKOFFICE_URL/multihub.merchants.v1.MerchantService/ListMerchants" -d '{}' \\
    -H 'Content-Type: application/json' -H "Authorization: Bearer $OPERATOR_TOKEN"

README.md continues with a first payment. Every method, with a panel to try it: ${urls['reference_url']}
 Ctrl-C stops the system; the next start uses the same data.

`
}

const print = (text: string): void => void process.stderr.write(text)
if (import.meta.main) runProcess((lifecycle) => startLocal(process.env, lifecycle, print))

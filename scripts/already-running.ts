import { join } from 'node:path'
import { z } from 'zod'
import { StartError } from '#lib/base/start-error.ts'
import { parseJsonOrUndefined, readIfExists } from './local.ts'

const ANSWER_TIMEOUT_MS = 1_000

const demoSchema = z.object({ base_url: z.url(), connect_url: z.url() })

/**
 * Refuses to start a second system on one home directory, because demo.json holds the addresses of one system only. The
 * check uses the operator's token of this home: another system that now has the old ports does not accept it.
 */
export async function refuseWhenRunning(home: string, operator_token: string): Promise<void> {
  const text = await readIfExists(join(home, 'demo.json'))
  const demo = demoSchema.safeParse(text === undefined ? undefined : parseJsonOrUndefined(text)).data
  if (demo === undefined || !(await answers(demo.connect_url, operator_token))) return
  throw new StartError(
    `a system already runs on ${home} and serves at ${demo.base_url}: stop it, or set MULTIHUB_HOME to another directory`,
  )
}

function answers(connect_url: string, operator_token: string): Promise<boolean> {
  return fetch(`${connect_url}/multihub.merchants.v1.MerchantService/ListMerchants`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${operator_token}` },
    body: '{}',
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  }).then(
    ({ ok }) => ok,
    () => false,
  )
}

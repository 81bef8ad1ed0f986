import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { openStore } from '#lib/store/open.ts'
import { shardOf } from '../../services/balances/domain/shard.ts'
import { credit, ledger_signer, NEXT_FORMATS } from '../../services/balances/ledger.fixture.ts'
import { createLedger } from '../../services/balances/ledger.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { startProcess } from '../support/child.ts'
import { trustedClock } from '../support/clock-guard.ts'
import { eventually } from '../support/eventually.ts'
import { ANY_PORTS } from '../support/free-port.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

const TOKEN = 'c'.repeat(64)
const MERCHANT = '1000'
const MERCHANT_OF_ANOTHER_SHARD = '1001'

/** Does what a process of the release after the next one would do: writes a batch of the next format. */
async function commitNewerBatch(home: string): Promise<void> {
  const store = await openStore({
    database: 'multihub_balances',
    directory: join(home, 'data'),
    timeout_ms: HANG_LIMIT_MS,
  })
  const ledger = createLedger(await openLedgerStore(store, ledger_signer, NEXT_FORMATS), trustedClock)
  await ledger.submit('test', credit('a', 1n, MERCHANT))
  await ledger.stop()
  await store.close()
}

// R9
test('a process that meets a newer format is ready, names the shard, logs it once and serves all others', async () => {
  const home = await mkdtemp(join(tmpdir(), 'multihub-newer-format-'))
  await commitNewerBatch(home)
  const { urls, stop, log } = await startProcess('main.ts', ['all'], {
    MULTIHUB_HOME: home,
    ...ANY_PORTS,
    MULTIHUB_MASTER_KEYS: `test:${'a'.repeat(64)}`,
    MULTIHUB_SANDBOX_KEY: 'b'.repeat(64),
    // Without a scanner, readiness names that too.
    MULTIHUB_SCANNER: 'clamd://127.0.0.1:1',
    MULTIHUB_RPC_CALLERS: `internal:${sha256Hex(TOKEN)}`,
  })
  const { health_url = '', connect_url = '' } = urls
  const getBalances = async (merchantId: string): Promise<number> => {
    const response = await fetch(`${connect_url}/multihub.balances.v1.BalanceService/GetBalances`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ merchantId, environment: 'ENVIRONMENT_TEST' }),
    })
    await response.body?.cancel()
    return response.status
  }
  try {
    for (let time = 0; time < 5; time += 1) expect(await getBalances(MERCHANT)).toBe(503)
    expect(await getBalances(MERCHANT_OF_ANOTHER_SHARD)).toBe(200)
    const expected = `ready\nbalances: shard ${shardOf(MERCHANT, 'test')}: newer format\n`
    const isReady = async (): Promise<string> => {
      const response = await fetch(`${health_url}/readyz`)
      return `${response.status} ${await response.text()}`
    }
    await eventually(isReady, (answer) => answer === `200 ${expected}`)
    expect(log().split('a shard is left to processes of a newer release')).toHaveLength(2)
  } finally {
    await stop()
    await rm(home, { recursive: true, force: true })
  }
})

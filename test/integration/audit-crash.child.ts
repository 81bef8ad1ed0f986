import { clock } from '#lib/base/time.ts'
import { openActs, openAuditOf } from './audit-crash.fixture.ts'

/**
 * A process that acts and kills itself: it writes the intent of an act, the act, and the outcome, several at a time. Every third act
 * is refused and does nothing. The parameters are the directory, and after how many milliseconds it kills itself, 0 for never; then
 * it ends after some acts and prints how long they took.
 */
const [directory = '', life_ms = '', acts_wanted = '0'] = process.argv.slice(2)

const acts = await openActs(directory)
const audit = await openAuditOf(directory, async () => undefined)
if (life_ms !== '0') setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(life_ms))

// Pauses between tries keep no process alive by themselves.
setInterval(() => {}, 1_000)
let begun = 0
const act = async (): Promise<void> => {
  const is_refused = begun % 3 === 2
  begun += 1
  const audit_id = await audit.begin({
    principal_id: 'p1',
    principal_name: 'alice',
    rpc: 'multihub.balances.v1.BalanceService/Adjust',
    targets: [],
    request: JSON.stringify({ is_refused }),
    request_id: `r${begun}`,
    deadline: new Date(clock.now_ms() + 1_000),
  })
  if (!is_refused) await acts.insert(audit_id)
  await audit.end(audit_id, is_refused ? { outcome: 'refused', error_code: 6004 } : { outcome: 'done' })
}
const started_ms = clock.monotonic_ms()
const goesOn = (): boolean => life_ms !== '0' || begun < Number(acts_wanted)
await Promise.all(
  Array.from({ length: 16 }, async () => {
    while (goesOn()) await act()
  }),
)
process.stdout.write(`${begun} acts in ${Math.round(clock.monotonic_ms() - started_ms)} ms\n`)
await audit.stop()
process.exit(0)

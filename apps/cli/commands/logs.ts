import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import {
  ExchangeService,
  WatchExchangesRequestSchema,
} from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import { type Exchange, ExchangeSchema } from '#gen/multihub/gateway/v1/exchange_pb.ts'
import { cleanText } from '#lib/contract/clean-text.ts'
import { openConnection } from '../call/connection.ts'
import { followStream } from '../call/follow.ts'
import { OWN_NAME } from '../output/own-name.ts'
import { jsonOf } from '../output/print.ts'
import { addCommonFlags, type CommonFlags } from '../request/common-flags.ts'
import { CommandError } from '../terminal.ts'
import type { DeclareCommand } from './command.ts'

interface LogsFlags extends CommonFlags {
  readonly merchant?: string
  readonly application?: string
  readonly method?: string
  readonly code?: string
  readonly onlyRefused?: boolean
}

/** How many of the last requests are remembered as shown. */
const SEEN_MAX = 10_000

/** `multihub logs tail`: requests of a merchant as the gateway answers them. */
export const declare: DeclareCommand = (command, terminal) => {
  const tail = command
    .command('tail')
    .description('show requests as they come, until Ctrl-C; earlier ones: multihub exchanges list')
    .option('--merchant <id>', 'whose requests; your own merchant without it')
    .option('--application <id>', 'of one application')
    .option('--method <name>', 'of one method, such as payment.in')
    .option('--code <number>', 'refused with this code')
    .option('--only-refused', 'only refusals')
  addCommonFlags(tail)
  tail.action(async (flags: LogsFlags) => {
    const code = flags.code === undefined ? 0 : Number(flags.code)
    if (!Number.isInteger(code)) throw new CommandError(2, '--code takes a number of the error table')
    const filter: MessageInitShape<typeof WatchExchangesRequestSchema> = {
      merchantId: flags.merchant ?? '',
      applicationId: flags.application ?? '',
      method: flags.method ?? '',
      code,
      onlyRefused: flags.onlyRefused === true,
    }
    const connection = openConnection(flags, terminal)
    const open = (sinceCursor: string) =>
      connection.stream(
        ExchangeService.method.watchExchanges,
        create(WatchExchangesRequestSchema, { ...filter, sinceCursor }),
      )
    const seen = new Set<string>()
    let is_open = false
    for await (const { exchanges, lost } of followStream(open, terminal)) {
      if (!is_open)
        terminal.stderr.write(`Watching. Ctrl-C ends; earlier requests: ${OWN_NAME} exchanges list\n`)
      is_open = true
      if (lost > 0n) terminal.stderr.write(`${lost} requests were not kept\n`)
      // A stream that goes on after a cursor begins with exchanges that were shown.
      const fresh = exchanges.filter(({ exchangeId }) => !seen.has(exchangeId))
      for (const { exchangeId } of fresh) seen.add(exchangeId)
      for (const id of seen) {
        if (seen.size <= SEEN_MAX) break
        seen.delete(id)
      }
      for (const one of fresh) terminal.stdout.write(`${lineOf(one, flags)}\n`)
    }
  })
}

function lineOf(exchange: Exchange, { json, jsonl }: CommonFlags): string {
  if (json || jsonl) return jsonOf(ExchangeSchema, exchange)
  const { time, httpStatus, code, method, field, durationMs, cId, requestId, applicationId } = exchange
  const at = time === undefined ? '' : timestampDate(time).toISOString().slice(11, 23)
  const refusal = code === 0 ? '' : `${code}${field === '' ? '' : ` ${field}`}`
  const parts = [
    at,
    String(httpStatus),
    method.padEnd(16),
    `${durationMs} ms`.padStart(8),
    applicationId,
    cId,
    refusal,
    requestId,
  ]
  return parts
    .map(cleanText)
    .filter((part) => part !== '')
    .join('  ')
}

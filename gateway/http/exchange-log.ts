import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { createRate } from '#lib/base/limit.ts'
import type { PublicError } from '#lib/contract/errors/public-error.ts'
import type { IpRanges } from '#lib/http/address-policy.ts'
import { networkOf } from '#lib/http/network-of.ts'
import { clientAddress } from '#lib/http/trusted-proxies.ts'
import { isLoggedByItsOwner } from '#lib/rpc/errors.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { type Exchange, elapsedMs } from './exchange.ts'
import { singleHeader } from './request-head.ts'

/** The log of one gateway. */
export type ExchangeLog = ReturnType<typeof createExchangeLog>

/**
 * The form of an id that a caller may give its request in `X-Request-ID`. It is logged besides the request id of the
 * gateway, and used for nothing else. A value of another form is not logged.
 */
export const CLIENT_REQUEST_ID = /^[\x21-\x7e]{1,128}$/

/**
 * Makes the log of the result of each request, of a refusal also with the caller's address. Lines about callers that are not
 * authenticated are sampled, per network and in total: those about faults separately, so that refusals do not hide
 * them.
 */
export function createExchangeLog(log: Log, trusted_proxies: IpRanges | undefined) {
  const refusals = createLogSampler()
  const faults = createLogSampler()
  const logAnswered = (
    exchange: Exchange,
    http_status: number,
    code?: number,
    refused_caller?: CallerFields,
  ): void => {
    const { request, request_id, context } = exchange
    const { application_id, merchant_id, environment, method, payment } = context
    log.info(
      {
        request_id,
        method,
        http_status,
        code,
        duration_ms: elapsedMs(exchange),
        application_id,
        merchant_id,
        environment,
        payment_id: payment?.payment_id,
        c_id: plainReference(payment?.c_id),
        h_id: plainReference(payment?.h_id),
        client_request_id: clientRequestIdOf(request),
        client_address: refused_caller?.client_address,
        dropped: refused_caller?.dropped,
      },
      'request answered',
    )
  }
  /** The fields about the caller of a refused request; `undefined` when its lines are left out. */
  const fieldsOfRefused = ({ request, context }: Exchange, sampler = refusals): CallerFields | undefined => {
    const client_address = clientAddress(request, trusted_proxies)
    const is_authenticated = context.sign !== undefined
    return is_authenticated ? { client_address } : sampledCallerFields(sampler, client_address)
  }
  return {
    logSuccess: (exchange: Exchange, http_status: number): void => logAnswered(exchange, http_status),
    logFailure(exchange: Exchange, error: PublicError): void {
      const is_fault = error.code === 2001 || error.code === 2002
      const caller = fieldsOfRefused(exchange, is_fault ? faults : refusals)
      if (caller === undefined) return
      logFault(log, exchange, error)
      logAnswered(exchange, error.http, error.code, caller)
    },
    /** The caller closed the connection before its request was complete. */
    logAborted(exchange: Exchange): void {
      const caller = fieldsOfRefused(exchange)
      if (caller === undefined) return
      const { request_id } = exchange
      log.info(
        { request_id, outcome: 'aborted', ...caller },
        'the caller closed the connection before its request was complete',
      )
    },
    /** Bytes that are not a valid request were answered with 1003. */
    logInvalid(request_id: string, address: string | undefined, reason: string | undefined): void {
      const caller = sampledCallerFields(refusals, address)
      if (caller === undefined) return
      log.info({ request_id, code: 1003, reason, ...caller }, 'invalid request; closing the connection')
    },
  }
}

/** A reference that is no e-mail address, no name and no secret: a merchant may have chosen any text as its `c_id`. */
const PLAIN_REFERENCE = /^[\w.:/#-]{1,63}$/

/** The reference of a merchant to a payment if it is plain, so that a log may show it. */
export function plainReference(text: string | undefined): string | undefined {
  return text !== undefined && PLAIN_REFERENCE.test(text) ? text : undefined
}

function clientRequestIdOf({ rawHeaders }: Exchange['request']): string | undefined {
  const given = singleHeader(rawHeaders, 'x-request-id')
  return given !== undefined && CLIENT_REQUEST_ID.test(given) ? given : undefined
}

/** What a log line says about the caller of a refused request. */
interface CallerFields {
  readonly client_address: string | undefined
  /**
   * How many lines of the same sample (refusals or faults) about the network of the caller were left out since the last
   * one that was written; absent for 0.
   */
  readonly dropped?: number
}

function sampledCallerFields(
  sampler: LogSampler,
  client_address: string | undefined,
): CallerFields | undefined {
  const dropped = sampler.sampleLine(client_address)
  if (dropped === undefined) return undefined
  return dropped === 0 ? { client_address } : { client_address, dropped }
}

/**
 * Logs faults and dependencies that are down; refusals are the caller's concern. What another role has logged, such as a refusal
 * of attachments, which has no cause, and a 2002 without a cause are in the line of the exchange only.
 */
function logFault(log: Log, { request_id }: Exchange, error: PublicError): void {
  const { code, cause } = error
  if (cause === undefined || isLoggedByItsOwner(error)) return
  if (code === 2001) log.error({ request_id, error: cause }, 'request failed with an unexpected fault')
  else if (code === 2002)
    log.warn({ request_id, error: cause }, 'request failed because a dependency is unavailable')
}

const MINUTE_MS = 60_000
/** Networks that are remembered; beyond it the one whose last line is the oldest is forgotten. */
const NETWORKS_MAX = 10_000

const lines_left_out = counter(
  'multihub_gateway_log_lines_left_out_total',
  'Log lines about callers without authentication that were left out, because there were too many about their network or in total.',
)

type LogSampler = ReturnType<typeof createLogSampler>

/**
 * Makes what decides which log lines about callers that are not authenticated are written: so many per minute about one
 * network and about all, so that such callers cannot fill the log.
 */
export function createLogSampler({ network_lines_max = 20, lines_max = 1_000 } = {}) {
  const newNetwork = () => ({ rate: createRate(network_lines_max, MINUTE_MS), left_out: 0 })
  const networks = new LRUCache<string, ReturnType<typeof newNetwork>>(entriesUpTo(NETWORKS_MAX))
  const all = createRate(lines_max, MINUTE_MS)
  return {
    /**
     * Decides about one line. Returns `undefined` when it must be left out, otherwise how many lines about the network of
     * the address were left out since the last exchange that was written.
     */
    sampleLine(address: string | undefined): number | undefined {
      const name = networkOf(address)
      const network = networks.get(name) ?? newNetwork()
      networks.set(name, network)
      if (!network.rate.hasRoom() || !all.use()) {
        network.left_out += 1
        lines_left_out.increment({})
        return undefined
      }
      network.rate.use()
      const { left_out: left_out_before } = network
      network.left_out = 0
      return left_out_before
    },
  }
}

import { z } from 'zod'
import { type Config, describedSetting, optionalSetting, setting } from '#lib/base/config/config.ts'
import { secretSetting, urlSetting } from '#lib/base/config/settings.ts'
import { useTracer } from './span.ts'

/** The settings of traces. The variables of the endpoint have OpenTelemetry's names, so that its tools can set them. */
export const TRACING_SETTINGS = {
  otlp_endpoint: describedSetting(
    'The URL of an OpenTelemetry collector (OTLP over HTTP). Traces go to `/v1/traces` below it. Without it there are none.',
    optionalSetting(urlSetting('OTEL_EXPORTER_OTLP_ENDPOINT')),
  ),
  otlp_headers: describedSetting(
    'Headers of the requests to the collector, such as `authorization=Bearer%20key`, separated by commas.',
    optionalSetting(secretSetting('OTEL_EXPORTER_OTLP_HEADERS')),
  ),
  trace_ratio: describedSetting(
    'The part of the requests that is traced. A request of a trusted caller that is part of a trace follows that trace.',
    setting(
      'MULTIHUB_TRACE_RATIO',
      'a number from 0 to 1, such as 0.05',
      z
        .string()
        .regex(/^(0|1|0?\.\d{1,9}|1\.0+)$/)
        .transform(Number),
      { value: 0.1, text: '0.1' },
    ),
  ),
} as const

/** The values of the settings of traces. */
export type TracingConfig = Config<typeof TRACING_SETTINGS>

/**
 * Starts to record traces when an endpoint is configured. Returns how to stop, which sends what waits. `service_name` and
 * `version` describe the process in each trace.
 */
export async function openTracing(
  { otlp_endpoint, otlp_headers, trace_ratio }: TracingConfig,
  service_name: string,
  version: string,
): Promise<() => Promise<void>> {
  if (otlp_endpoint === undefined) return async () => {}
  const { createOtlpTracer } = await import('./otlp.ts')
  const tracer = createOtlpTracer({
    endpoint: otlp_endpoint,
    headers: parseHeaders(otlp_headers?.reveal() ?? ''),
    ratio: trace_ratio,
    service_name,
    version,
  })
  const stop = useTracer(tracer)
  return async () => {
    stop()
    await tracer.close()
  }
}

/** Parses `name=value,name=value` with percent-encoded values, the form that OpenTelemetry defines. */
export function parseHeaders(text: string): Readonly<Record<string, string>> {
  const pairs = text
    .split(',')
    .map((pair) => /^\s*([^=\s]+)\s*=(.*)$/.exec(pair))
    .flatMap((match) =>
      match?.[1] === undefined ? [] : [[match[1], decode((match[2] ?? '').trim())] as const],
    )
  return Object.fromEntries(pairs)
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

import { createServer } from 'node:net'
import { type ConfigSchema, readConfig } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import { listen, simulatedNetwork } from '#lib/http/network.ts'

/**
 * Throws one `StartError` that names every port that cannot be listened on, with its setting, so that an operator can
 * correct all of them together. Port 0 is always free. It must run before the process listens.
 */
export async function checkPorts(
  schemas: readonly ConfigSchema[],
  variables: Readonly<Record<string, string | undefined>>,
  host: string,
): Promise<void> {
  if (simulatedNetwork() !== undefined) return
  const ports = schemas.flatMap((schema) => portsOf(schema, variables)).filter(({ port }) => port !== 0)
  const attempts = await Promise.allSettled(
    ports.map(({ variable, port }) => listen(createServer(), { host, port, variable })),
  )
  await Promise.all(attempts.map((attempt) => attempt.status === 'fulfilled' && attempt.value.close(0)))
  const failures = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason] : []))
  const unforeseen = failures.find((failure) => !(failure instanceof StartError))
  if (unforeseen !== undefined) throw unforeseen
  // A wrong host fails every port with the same sentence.
  const sentences = new Set(failures.map(({ message }: StartError) => message))
  if (sentences.size > 0) throw new StartError([...sentences].join('\n'))
}

function portsOf(schema: ConfigSchema, variables: Readonly<Record<string, string | undefined>>) {
  const port_settings = Object.entries(schema).filter(([, { is_port }]) => is_port)
  const values = readConfig(Object.fromEntries(port_settings), variables)
  return port_settings.map(([name, { variable }]) => ({ variable, port: Number(values[name]) }))
}

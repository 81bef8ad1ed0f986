import { z } from 'zod'

/** A line as Docker keeps it in its files. */
const DOCKER_LINE = z.object({ log: z.string(), stream: z.string() })

/**
 * What a process has logged in a line that was kept: the line itself, behind what a container runtime writes before it, or as Docker
 * keeps it, as the text `log` of an object. `undefined` when the line has no JSON object.
 */
export function parseLogLine(line: string): unknown {
  const value = parseObject(line)
  const docker = DOCKER_LINE.safeParse(value).data
  return docker === undefined ? value : parseObject(docker.log)
}

function parseObject(line: string): unknown {
  const start = line.indexOf('{')
  if (start < 0) return undefined
  try {
    return JSON.parse(line.slice(start))
  } catch {
    return undefined
  }
}

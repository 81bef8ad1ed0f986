/**
 * The Authorization header from the raw header lines, names and values in turn. Several are joined, which no token matches:
 * Node's own view has only the first one, but a proxy in front may have checked another.
 */
export function authorizationOf(lines: readonly string[]): string | undefined {
  let joined: string | undefined
  for (let index = 0; index + 1 < lines.length; index += 2) {
    if (lines[index]?.toLowerCase() !== 'authorization') continue
    const value = lines[index + 1] ?? ''
    joined = joined === undefined ? value : `${joined}, ${value}`
  }
  return joined
}

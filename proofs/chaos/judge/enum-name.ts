/** The name of a value of a generated enum, in lower case; empty for an unknown value. */
export function enumName(values: Readonly<Record<string, number>>, value: number): string {
  return (
    Object.keys(values)
      .find((name) => values[name] === value)
      ?.toLowerCase() ?? ''
  )
}

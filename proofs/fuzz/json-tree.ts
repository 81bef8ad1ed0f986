/** A JSON document as text fragments, so that it can also contain invalid JSON. */
export type Tree = Scalar | ObjectTree | ListTree

/** Any text as a value. */
export interface Scalar {
  text: string
}

/** Pairs of a key (with its quotes) and a value. A key can occur twice. */
export interface ObjectTree {
  pairs: [key: string, value: Tree][]
}

/** A list. */
export interface ListTree {
  items: Tree[]
}

/** A place in a tree whose value can be read and replaced. */
export interface Place {
  readonly value: Tree
  put(value: Tree): void
}

/** Makes the tree of a plain value. */
export function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return { items: value.map(treeOf) }
  if (typeof value !== 'object' || value === null) return { text: JSON.stringify(value) }
  const defined = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return { pairs: defined.map(([key, inner]) => [JSON.stringify(key), treeOf(inner)]) }
}

/** Writes a tree with `space` wherever JSON allows white space. */
export function textOf(tree: Tree, space = ''): string {
  if ('text' in tree) return tree.text
  if ('items' in tree)
    return `[${space}${tree.items.map((item) => textOf(item, space)).join(`,${space}`)}${space}]`
  const pairs = tree.pairs.map(([key, value]) => `${key}${space}:${space}${textOf(value, space)}`)
  return `{${space}${pairs.join(`${space},`)}${space}}`
}

/** Every place of a tree below its root. */
export function placesOf(tree: Tree): readonly Place[] {
  if ('text' in tree) return []
  if ('items' in tree) {
    const { items } = tree
    return items.flatMap((value, index) => [
      { value, put: (other: Tree) => void items.splice(index, 1, other) },
      ...placesOf(value),
    ])
  }
  return tree.pairs.flatMap((pair) => [
    { value: pair[1], put: (other: Tree) => void pair.splice(1, 1, other) },
    ...placesOf(pair[1]),
  ])
}

/** Every object of a tree. */
export function objectsOf(tree: Tree): readonly ObjectTree[] {
  const inner = placesOf(tree).map(({ value }) => value)
  return [tree, ...inner].filter((each): each is ObjectTree => 'pairs' in each)
}

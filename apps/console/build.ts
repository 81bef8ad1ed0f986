import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { type BuildOptions, build, type OutputFile } from 'esbuild'

/** The folder of the bundle, which is committed and which the back office serves. */
export const BUNDLE = join(import.meta.dirname, 'bundle')

const SOURCES = join(import.meta.dirname, 'browser')

const OPTIONS = {
  bundle: true,
  minify: true,
  write: false,
  target: 'es2023',
  charset: 'utf8',
  legalComments: 'none',
  absWorkingDir: join(import.meta.dirname, '..', '..'),
  define: { 'process.env.NODE_ENV': '"production"' },
  outdir: '/assets',
} as const satisfies BuildOptions

/**
 * Builds the console: the files of the bundle by their paths, not compressed. Names of assets have the hash of their content, so
 * the same sources give the same bundle on every machine.
 */
export async function buildBundle(): Promise<ReadonlyMap<string, Uint8Array>> {
  const [console_files, start_files] = await Promise.all([
    build({
      ...OPTIONS,
      entryPoints: [
        join(SOURCES, 'main.tsx'),
        join(SOURCES, 'style', 'console.css'),
        join(SOURCES, 'style', 'icon.svg'),
      ],
      format: 'esm',
      splitting: true,
      loader: { '.svg': 'copy' },
      jsx: 'automatic',
      entryNames: '[name]-[hash]',
      chunkNames: 'page-[hash]',
    }),
    build({ ...OPTIONS, entryPoints: [join(SOURCES, 'start.ts')], format: 'iife' }),
  ])
  const assets = console_files.outputFiles.map(assetOf)
  const [[, start_script] = ['', new Uint8Array()]] = start_files.outputFiles.map(assetOf)
  const find = (pattern: RegExp): string => assets.find(([path]) => pattern.test(path))?.[0] ?? ''
  const page = pageOf({
    main: find(/^assets\/main-/),
    style: find(/^assets\/console-/),
    icon: find(/^assets\/icon-/),
  })
  return new Map([...assets, ['start.js', start_script], ['index.html', new TextEncoder().encode(page)]])
}

function assetOf({ path, contents }: OutputFile): [string, Uint8Array] {
  return [path.slice(1), contents]
}

/** The page of every address. Its script loads the other files, and loads the page again while one is missing. */
function pageOf({ main, style, icon }: Readonly<Record<'main' | 'style' | 'icon', string>>): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Multihub</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/${icon}" type="image/svg+xml">
<link rel="preload" as="style" href="/${style}">
<link rel="modulepreload" href="/${main}">
<script src="/start.js" defer data-main="/${main}" data-style="/${style}"></script>
</head>
<body><div id="console"></div><noscript>The console needs JavaScript.</noscript></body>
</html>
`
}

/** Compresses a file of the bundle as it is committed and sent. */
export function compress(bytes: Uint8Array): Uint8Array {
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })
}

async function writeBundle(): Promise<void> {
  const files = await buildBundle()
  await rm(BUNDLE, { recursive: true, force: true })
  let total = 0
  for (const [path, bytes] of files) {
    const target = join(BUNDLE, `${path}.br`)
    const compressed = compress(bytes)
    total += compressed.length
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, compressed)
  }
  process.stderr.write(`${files.size} files, ${(total / 1_000).toFixed(0)} kB compressed\n`)
}

if (import.meta.main) await writeBundle()

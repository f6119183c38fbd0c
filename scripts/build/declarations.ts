/** Declarations: the types of the library in `dist/types`, without anything that a user has not installed. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { promisify } from 'node:util'

/** Where a declaration names another module: `from '…'`, `import('…')`, `import '…'`. */
const specifierPattern = /(\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(['"])([^'"]+)\2/g

/** `AsyncDisposable` is in no `lib` that a user has by default. */
const header = '/// <reference lib="esnext.disposable" />\n'

/** Every module that a declaration names; comments may name others. */
export function specifiersIn(declaration: string): string[] {
  const code = declaration.replaceAll(/\/\*[^]*?\*\//g, '')
  return [...code.matchAll(specifierPattern)].map(([, , , specifier = '']) => specifier)
}

/** With the extensions of the built files, which every module resolution finds a declaration for. */
function withBuiltExtensions(declaration: string): string {
  return declaration.replaceAll(
    specifierPattern,
    (_, before: string, quote: string, specifier: string) => {
      const built = specifier.startsWith('.') ? specifier.replace(/\.ts$/, '.js') : specifier
      return `${before}${quote}${built}${quote}`
    },
  )
}

const declarationOf = (source: string): string => source.replace(/\.ts$/, '.d.ts')

/** The declarations that `sources` need, by their path from `folder`. */
async function reachable(
  folder: string,
  sources: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  const pending = sources.map(declarationOf)
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (found.has(path)) continue
    const text = await readFile(join(folder, path), 'utf8')
    found.set(path, text)
    for (const specifier of specifiersIn(text)) {
      if (specifier.startsWith('.')) {
        pending.push(declarationOf(normalize(join(dirname(path), specifier))))
      }
    }
  }
  return found
}

/** Writes the declarations of the whole program. Throws with what the compiler says. */
async function compile(root: string, into: string): Promise<void> {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  if (!existsSync(compiler)) throw new Error(`${compiler} does not exist`)
  const project = join(root, 'scripts', 'build', 'declarations.tsconfig.json')
  const words = [compiler, '-p', project, '--outDir', into]
  await promisify(execFile)(process.execPath, words).catch((error: Error & { stdout: string }) => {
    throw new Error(error.stdout || error.message)
  })
}

/** Writes the declarations of `sources` and of what they name, from the repository's root, to `into`. */
export async function writeDeclarations(
  root: string,
  into: string,
  sources: readonly string[],
): Promise<void> {
  await mkdir(into, { recursive: true })
  // All declarations of the program; most of them are not reachable from the library's.
  const all = await mkdtemp(join(into, '.all-'))
  try {
    await compile(root, all)
    for (const [path, text] of await reachable(all, sources)) {
      await mkdir(dirname(join(into, path)), { recursive: true })
      await writeFile(join(into, path), `${header}${withBuiltExtensions(text)}`)
    }
  } finally {
    await rm(all, { recursive: true, force: true })
  }
}

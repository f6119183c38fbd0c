/**
 * ProgramLoader: runs the scripts of a build. It keeps the code that V8 compiled, with every function that the start called, for the next
 * process: Node's compile cache holds none of these functions, and compiling them again takes a third of a start.
 */
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cachedDataVersionTag } from 'node:v8'
import { constants, Script } from 'node:vm'

type Exports = Record<string, unknown>

/** A script of scripts/build/classic-script.ts. */
type Body = (
  exports: Exports,
  require: (name: string) => unknown,
  importScript: (name: string) => Promise<unknown>,
  importMeta: ScriptMeta,
) => void

interface ScriptMeta {
  readonly url: string
  readonly filename: string
  readonly dirname: string
  /** `import()` of this module: that of a script is experimental to Node. */
  readonly importModule: (url: string) => Promise<unknown>
}

const requireBuiltin = createRequire(import.meta.url)

/** V8 believes what it is given, and aborts the process over a damaged byte: the digest stands before the code. */
const digestBytes = 32

function digestOf(code: Buffer): Buffer {
  return hash('sha256', code, 'buffer')
}

/** Undefined for a file that is missing or damaged. */
function readCode(file: string): Buffer | undefined {
  try {
    const kept = readFileSync(file)
    const code = kept.subarray(digestBytes)
    return digestOf(code).equals(kept.subarray(0, digestBytes)) ? code : undefined
  } catch {
    return undefined
  }
}

export class ProgramLoader {
  /** V8 rejects code of another version, other flags or another processor. */
  readonly #cache: string | undefined
  readonly #loaded = new Map<string, Exports>()
  readonly #uncached = new Map<string, Script>()

  /** Compiled code is kept in `cache`, absent: nowhere. A folder that cannot be written is no error. */
  constructor(cache: string | undefined) {
    this.#cache = cache === undefined ? undefined : join(cache, `scripts-${cachedDataVersionTag()}`)
  }

  /** The exports of a script, which runs once. Its name must tell its content from that of other builds. */
  load(file: string): Exports {
    const before = this.#loaded.get(file)
    if (before !== undefined) return before
    const exports: Exports = {}
    this.#loaded.set(file, exports)
    const folder = dirname(file)
    const isScript = (name: string): boolean => name.startsWith('.')
    this.#compile(file)(
      exports,
      (name) => (isScript(name) ? this.load(join(folder, name)) : requireBuiltin(name)),
      async (name) => this.load(join(folder, name)),
      {
        url: pathToFileURL(file).href,
        filename: file,
        dirname: folder,
        importModule: async (url) => (await import(url)) as unknown,
      },
    )
    return exports
  }

  /** Keeps the compiled code of all scripts that were compiled here, once: it takes tens of milliseconds. */
  save(): void {
    const [cache, uncached] = [this.#cache, [...this.#uncached]]
    this.#uncached.clear()
    if (cache === undefined || uncached.length === 0) return
    try {
      mkdirSync(cache, { recursive: true })
      for (const [file, script] of uncached) write(join(cache, basename(file)), script)
    } catch {
      // Read-only, or full: the next start compiles again.
    }
  }

  #compile(file: string): Body {
    const cachedData =
      this.#cache === undefined ? undefined : readCode(join(this.#cache, basename(file)))
    // Bundles are ASCII, which V8 holds and compares in one byte a character.
    const body = readFileSync(file, 'latin1')
    const script = new Script(
      `(function (exports, require, importScript, importMeta) {'use strict';${body}\n})`,
      {
        filename: file,
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
        ...(cachedData === undefined ? {} : { cachedData }),
      },
    )
    if (script.cachedDataRejected !== false) this.#uncached.set(file, script)
    return script.runInThisContext() as Body
  }
}

function write(path: string, script: Script): void {
  const written = `${path}.${process.pid}-${performance.now()}`
  try {
    const code = script.createCachedData()
    writeFileSync(written, Buffer.concat([digestOf(code), code]))
    renameSync(written, path)
  } catch (error) {
    rmSync(written, { force: true })
    throw error
  }
}

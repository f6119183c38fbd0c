/** TypeScript commands: a TypeScript file runs with this Node, and with tsx if that is installed. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { importModule } from '../../components/component-base/import-module.ts'

/** Node compiles enums and namespaces too, without a warning on standard error. */
const nodeFlags = ['--experimental-transform-types', '--disable-warning=ExperimentalWarning']

/** The cache of tsx would stay in the temporary directory. */
const noCache = 'TSX_DISABLE_CACHE'

const typescriptFile = /\.[mc]?tsx?$/

/** The entry of tsx as installed in the folder, else in Skiff; undefined if neither has it. */
function tsxFor(cwd: string): string | undefined {
  for (const from of [join(cwd, 'package.json'), import.meta.url]) {
    try {
      return pathToFileURL(createRequire(from).resolve('tsx')).href
    } catch {
      // Not installed: Node alone compiles TypeScript, but ignores the paths of tsconfig.json.
    }
  }
  return undefined
}

export interface CommandLine {
  readonly words: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

/** Before a TypeScript module is imported into this process: with tsx, if that is installed, it may have what Node does not compile. */
export async function loadTypescript(file: string): Promise<void> {
  const tsx = typescriptFile.test(file) ? tsxFor(dirname(file)) : undefined
  if (tsx === undefined) return
  // oxlint-disable-next-line no-restricted-properties -- tsx reads it there
  process.env[noCache] = '1'
  await importModule(tsx)
}

/** The command line that runs `program`: with tsx for a TypeScript file, unchanged for any other program. */
export function commandLineOf(program: string, args: readonly string[], cwd: string): CommandLine {
  if (!typescriptFile.test(program)) return { words: [program, ...args], environment: {} }
  const tsx = tsxFor(cwd)
  if (tsx === undefined) {
    return { words: [process.execPath, ...nodeFlags, program, ...args], environment: {} }
  }
  return {
    words: [process.execPath, '--import', tsx, program, ...args],
    environment: { [noCache]: '1' },
  }
}

/** Go: runs the tests of Go modules in this repository on the programs of `skiff envtest`. */
import { execFileSync, spawn } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'vitest'
import type { test } from 'vitest'
import type { Place } from '../e2e/place.ts'
import { requireParts } from './require-parts.ts'

const leastMinor = 26
/** The first build of client-go and controller-runtime takes minutes on a small machine. */
export const goTimeoutMs = 900_000

/** Why the module's tests cannot run here; undefined when they can. */
function hindrance(module: string): string | undefined {
  const run = (...words: string[]): string =>
    execFileSync('go', words, { cwd: module, encoding: 'utf8', stdio: 'pipe', timeout: 300_000 })
  try {
    const version = run('env', 'GOVERSION').trim()
    const [, minor] = /^go1\.(\d+)/.exec(version) ?? []
    if (Number(minor) < leastMinor) return `Go 1.${leastMinor} is needed, there is ${version}`
  } catch {
    return 'there is no go in PATH'
  }
  try {
    run('mod', 'download')
    return undefined
  } catch (error) {
    return `its modules cannot be fetched: ${(error as Error).message.split('\n')[1] ?? ''}`
  }
}

/** The tests that run the module in that folder, where Go can. */
export function requireGo(module: string): typeof test | typeof test.skip {
  return requireParts(module, () => hindrance(module))
}

/** The folder with programs that `skiff envtest` prints, for KUBEBUILDER_ASSETS. */
export async function envtestAssets(place: Place, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await place.run(['envtest', ...words])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.trim()
}

/**
 * A first build of client-go is most of what these tests take: without vet, optimizations and symbols it takes half the processor
 * time. None of them says anything of Skiff.
 */
export const quickBuild = ['-vet=off', '-gcflags=all=-N -l', '-ldflags=-s -w']

/** Runs `go test` in the folder; what it printed, whatever its end. */
export async function goTest(
  module: string,
  environment: Readonly<Record<string, string>>,
): Promise<{ code: number | null; output: string }> {
  const child = spawn('go', ['test', '-count=1', '-v', ...quickBuild, './...'], {
    cwd: module,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CGO_ENABLED: '0', ...environment },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve)
  })
  return { code, output: stripVTControlCharacters(output) }
}

/**
 * Fetches what the tests of the package use beside the development dependencies: other package managers, other Node.js release
 * lines, an older TypeScript. Without them these tests are skipped and say so.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The package with the binary of Node.js for this machine; one for each system and processor. */
function nodePackage(): string {
  const system = process.platform === 'win32' ? 'win' : process.platform
  const isBin = process.platform === 'darwin' && process.arch === 'arm64'
  return `${isBin ? 'node-bin' : 'node'}-${system}-${process.arch}`
}

/** Folder in `node_modules` -> package and version. */
const tools: Readonly<Record<string, string>> = {
  node22: `${nodePackage()}@22.23.3`,
  node26: `${nodePackage()}@26.10.0`,
  pnpm: 'pnpm@12.21.0',
  yarn: '@yarnpkg/cli-dist@4.18.1',
  typescript5: 'typescript@5.9.3',
  jest: 'jest@30.5.2',
}

const folder = join(dirname(import.meta.dirname), 'test', 'package', '.tools')
mkdirSync(folder, { recursive: true })
const dependencies = Object.fromEntries(
  Object.entries(tools).map(([name, spec]) => [name, `npm:${spec}`]),
)
writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
const command = 'npm install --prefer-offline --ignore-scripts --no-package-lock --no-audit'
// npm is a script of the shell on Windows.
const { status } = spawnSync(command, { cwd: folder, stdio: 'inherit', shell: true })
process.exitCode = status ?? 1

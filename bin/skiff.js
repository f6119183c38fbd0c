#!/usr/bin/env node
// Entry of the command: any Node can parse this file. On an old Node it hands over to the pinned one, else says what to install.
import { spawn } from 'child_process'
import { existsSync } from 'fs'
import { createRequire } from 'module'
import { constants } from 'os'
import { dirname, join } from 'path'
import { fileURLToPath, pathToFileURL } from 'url'

// The first 22 with node:sqlite; and what to install in place of an older one.
const oldest = [22, 13]
const recommendedMajor = 24
const packageRoot = dirname(dirname(fileURLToPath(import.meta.url)))

function fail(message) {
  process.stderr.write(`skiff: ${message}\n`)
  process.exit(1)
}

function pinnedNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve('node/package.json')
    const binary = join(
      dirname(manifest),
      'bin',
      process.platform === 'win32' ? 'node.exe' : 'node',
    )
    return existsSync(binary) ? binary : undefined
  } catch {
    return undefined // the package `node` is not installed beside us
  }
}

function handOver(binary) {
  // The channel tells the child when this process is gone, however it ended.
  const stdio = ['inherit', 'inherit', 'inherit', 'ignore', 'ipc']
  const child = spawn(binary, process.argv.slice(1), { stdio })
  // The end of the channel stops it, also on Windows, where a signal ends a process at once.
  const forward = (signal) => (child.connected ? child.disconnect() : child.kill(signal))
  // A terminal sends its Ctrl-C to parent and child alike; the parent only has to outlive the child.
  process.on('SIGINT', process.stdin.isTTY ? () => {} : forward)
  process.on('SIGTERM', forward)
  process.on('SIGHUP', forward)
  child.on('error', (error) => {
    fail(`cannot run ${binary}: ${error.message}`)
  })
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? code : 128 + (constants.signals[signal] || 0))
  })
}

function load() {
  const main = join(packageRoot, 'dist', 'skiff.js')
  if (!existsSync(main)) fail('dist/skiff.js is missing. Build it first: npm run build')
  void import(pathToFileURL(main).href)
}

function isSupported() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1])
}

if (isSupported()) load()
else {
  const binary = pinnedNode()
  if (binary === undefined) {
    fail(
      `Node.js ${oldest.join('.')} or newer is needed, this is ${process.version}. ` +
        `Install it from https://nodejs.org, or run: npm install --save-dev node@${recommendedMajor}`,
    )
  } else handOver(binary)
}

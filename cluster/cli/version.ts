/** `skiff version`: prints the versions of skiff, of the API and of Node.js. */
import { ownVersion } from '../own-version.ts'
import { defineCommand, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'

/** The release whose API is served. */
const apiRelease = '1.32'

export const version = defineCommand({
  name: 'version',
  summary: 'Print the version',
  flags: outputFlag,
  examples: [['skiff version -o json', 'Print the version as JSON']],
  run: async ({ terminal }, { flags: given }) => {
    const own = ownVersion()
    if (given.output === 'json') {
      terminal.out(
        `${JSON.stringify({ skiff: own, api: apiRelease, node: process.versions.node })}\n`,
      )
    } else terminal.out(`skiff ${own} (API ${apiRelease}, Node.js ${process.versions.node})\n`)
    return exitCodes.ok
  },
})

/** `skiff storage ...`: rewrites stored objects. */
import { defineFlags } from '../../components/component-base/flags.ts'
import { rewriteStorage, type RewrittenResource } from '../rewrite-storage.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'
import { createProgress } from './progress.ts'
import { table } from './terminal.ts'

const rewriteFlags = defineFlags({ ...nameFlag, ...outputFlag })

function rowsOf(results: readonly RewrittenResource[]): string[][] {
  return results
    .filter(({ objects, failed }) => objects > 0 || failed.length > 0)
    .map(({ resource, objects, rewritten, unchanged, failed }) => [
      resource,
      ...[objects, rewritten, unchanged, failed.length].map(String),
    ])
}

const rewrite = defineCommand({
  name: 'storage rewrite',
  summary: 'Rewrite stored objects, for example to encrypt them with a new key',
  description:
    'Reads each object and writes it back unchanged through the API, which stores it in its current form. Use it after you\n' +
    'rotate a key of --encryption-provider-config, or turn encryption on or off; after success you can remove the old key.\n' +
    'Objects already stored in the current form are not written. Without RESOURCE, rewrites all resources.',
  arguments: [{ name: 'RESOURCE', isOptional: true, isRepeated: true }],
  flags: rewriteFlags,
  examples: [
    ['skiff storage rewrite secrets', 'Encrypt Secrets with the current first key'],
    ['skiff storage rewrite -o json', 'Rewrite everything; print counts and failures as JSON'],
  ],
  run: async (context, { flags: given, args }) =>
    await withCluster(context, given.name, async ({ client }) => {
      const { terminal } = context
      const line = 'storage'
      const progress = createProgress({ ...context, names: [line] })
      let results: RewrittenResource[]
      try {
        results = await rewriteStorage(client, {
          names: args,
          progress: (resource, done, total) =>
            progress.update(line, `${resource}: ${done} of ${total}`),
        })
        const count = results.reduce((sum, { rewritten }) => sum + rewritten, 0)
        progress.done(line, `${count} rewritten`)
      } catch (error) {
        progress.failed(line, 'failed')
        throw error
      } finally {
        progress.end()
      }
      const faults = results.flatMap(({ resource, failed }) =>
        failed.map(
          ({ name, message }) => `${[resource, name].filter(Boolean).join('/')}: ${message}`,
        ),
      )
      if (given.output === 'json') terminal.out(`${JSON.stringify({ resources: results })}\n`)
      else {
        const head = ['RESOURCE', 'OBJECTS', 'REWRITTEN', 'UNCHANGED', 'FAILED']
        terminal.out(table([head, ...rowsOf(results)]))
        for (const fault of faults) terminal.err(`error: ${fault}\n`)
      }
      return faults.length === 0 ? exitCodes.ok : exitCodes.failed
    }),
})

export const storageCommands = [rewrite]

/** `skiff storage ...`: what lies in the store of a cluster. */
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
  summary: 'Store every object anew, in the form the API server writes today',
  description:
    'After a key of --encryption-provider-config was rotated, or encryption was turned on or off, the store still holds what\n' +
    'was written before. This reads each object and puts it back unchanged, through the API; what is stored in the newest\n' +
    'form already is left alone. When it ends well, an old key can be taken out of the configuration. Without RESOURCE, all.',
  arguments: [{ name: 'RESOURCE', isOptional: true, isRepeated: true }],
  flags: rewriteFlags,
  examples: [
    ['skiff storage rewrite secrets', 'Secrets are encrypted with the key that is first now'],
    ['skiff storage rewrite -o json', 'Everything; counts and failures as JSON'],
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

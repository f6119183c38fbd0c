/** The questions of `skiff why` about requests, tokens and denials. */
import type { Client } from '../../components/client/client.ts'
import { createDiscovery } from '../../components/client/server-resources.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import {
  accessSpec,
  explainAccess,
  explainDenied,
  explainManifest,
  explainToken,
  withUsualGroups,
  type Explained,
  type Somebody,
} from '../why/request.ts'
import { formatYaml } from '../yaml.ts'
import type { CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { objectsOf, textOf } from './manifests.ts'
import { usage, type WhyFlags } from './why-flags.ts'
import { accessText, deniedText, tokenText, type Shown } from './why-request-text.ts'

const largestLast = 100

export function somebodyOf(given: WhyFlags): Somebody | undefined {
  const { as: user, 'as-group': groups, 'as-uid': uid } = given
  if (user === '') {
    if (groups.length === 0 && uid === '') return undefined
    throw usage('--as-group and --as-uid need --as USER')
  }
  return withUsualGroups({ user, groups, ...(uid === '' ? {} : { uid }) })
}

/** What the files hold, one after the other. */
async function explainFiles(
  client: Client,
  paths: readonly string[],
  by: Omit<Parameters<typeof explainManifest>[2], 'resources'>,
): Promise<Explained[]> {
  const objects: KubeObject[] = []
  for (const path of paths) objects.push(...objectsOf(await textOf(path), path))
  const resources = await createDiscovery(client)()
  const explained: Explained[] = []
  for (const object of objects) {
    explained.push(await explainManifest(client, object, { ...by, resources }))
  }
  return explained
}

/** Answers the question that the arguments and flags ask. */
async function asked(
  client: Client,
  given: WhyFlags,
  from: { readonly args: readonly string[]; readonly warn: (text: string) => void },
): Promise<{ explained: readonly Explained[]; isOne: boolean }> {
  const [verb = '', target = ''] = from.args
  const who = somebodyOf(given)
  const namespace = given['all-namespaces'] ? '' : given.namespace
  const one = (explained: Explained) => ({ explained: [explained], isOne: true })
  if (given['token-file'] !== '') {
    const token = (await textOf(given['token-file'])).trim()
    return one(await explainToken(client, { token, audiences: given.audience }))
  }
  if (given.filename.length > 0) {
    const explained = await explainFiles(client, given.filename, {
      who,
      namespace,
      warn: from.warn,
    })
    return { explained, isOne: explained.length === 1 }
  }
  if (who === undefined) throw usage('the user is missing: pass --as USER')
  const { subresource } = given
  const spec = await accessSpec(client, {
    who,
    verb,
    target,
    subresource,
    namespace,
    warn: from.warn,
  })
  return one(await explainAccess(client, spec, from.warn))
}

const isGood = ({ kind, explanation }: Explained): boolean =>
  kind === 'access' ? explanation.allowed : explanation.authenticated

function textOfExplained({ kind, explanation }: Explained, shown: Shown): string {
  return kind === 'access' ? accessText(explanation, shown) : tokenText(explanation, shown)
}

function printed(explained: readonly Explained[], as: Shown & { output: string; isOne: boolean }) {
  switch (as.output) {
    case 'json': {
      const all = explained.map(({ explanation }) => explanation)
      return `${JSON.stringify(as.isOne ? all[0] : all, null, 2)}\n`
    }
    case 'role':
      return explained
        .flatMap(({ kind, explanation }) =>
          kind === 'access' ? (explanation.wouldAllow ?? []) : [],
        )
        .map((object) => `---\n${formatYaml(object)}`)
        .join('')
    default:
      return explained.map((one) => textOfExplained(one, as)).join('\n')
  }
}

export async function showLast(
  client: Client,
  { terminal, clock }: CommandContext,
  asked: { readonly count: string; readonly isJson: boolean },
): Promise<number> {
  const limit = Number(asked.count)
  if (!Number.isInteger(limit) || limit < 1 || limit > largestLast) {
    throw usage(`--last takes a whole number from 1 to ${largestLast}`)
  }
  const denied = await explainDenied(client, limit)
  const shown = { colors: terminal.outColors, nowMs: clock.now() }
  terminal.out(
    asked.isJson ? `${JSON.stringify(denied.items, null, 2)}\n` : deniedText(denied, shown),
  )
  return exitCodes.ok
}

/** Explains a request, manifests or a token; fails when something is not allowed. */
export async function showRequest(
  client: Client,
  { terminal, clock }: CommandContext,
  question: { readonly given: WhyFlags; readonly args: readonly string[] },
): Promise<number> {
  const { given, args } = question
  const warn = (text: string): void => terminal.err(`warning: ${text}\n`)
  const { explained, isOne } = await asked(client, given, { args, warn })
  const shown = { colors: terminal.outColors, nowMs: clock.now() }
  terminal.out(printed(explained, { ...shown, output: given.output, isOne }))
  return explained.every(isGood) ? exitCodes.ok : exitCodes.failed
}

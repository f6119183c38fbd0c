/** `skiff why`: explains why requests are allowed or denied, and lists recently denied ones. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { Client } from '../../components/client/client.ts'
import { ClusterError } from '../cluster-error.ts'
import {
  accessSpec,
  explainAccess,
  explainDenied,
  explainManifest,
  explainToken,
  withUsualGroups,
  type Explained,
  type Somebody,
} from '../why.ts'
import { formatYaml } from '../yaml.ts'
import { defineCommand, nameFlag, type CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'
import { objectsOf, textOf } from './manifests.ts'
import { accessText, deniedText, tokenText, type Shown } from './why-text.ts'

const flags = defineFlags({
  as: flag.string(
    'User to ask about; system:serviceaccount:NAMESPACE:NAME for a service account.',
    '',
  ),
  'as-group': flag.list(
    'Groups of that user, in addition to system:authenticated. Repeatable.',
    [],
  ),
  'as-uid': flag.string('UID of that user.', ''),
  namespace: flag.string('Namespace of the request (-n).', 'default'),
  'all-namespaces': flag.bool('Ask about a request in all namespaces (-A).', false),
  subresource: flag.string('Subresource of the request, such as log.', ''),
  filename: flag.list(
    'File with reviews to explain, or with objects to create; - for standard input (-f). Repeatable.',
    [],
  ),
  'token-file': flag.string('File with a bearer token to explain; - for standard input.', ''),
  audience: flag.list('Audiences of the token; by default those of the API server.', []),
  last: flag.bool('Explain the last N denied requests; N is 1 by default.', false),
  ...nameFlag,
  output: flag.string(
    'Output format; role prints only the role and binding that would allow a denied request.',
    'text',
    {
      choices: ['text', 'json', 'role'],
    },
  ),
})

const largestLast = 100

type Given = {
  readonly [K in keyof typeof flags]: (typeof flags)[K]['default']
}

function somebodyOf(given: Given): Somebody | undefined {
  const { as: user, 'as-group': groups, 'as-uid': uid } = given
  if (user === '') {
    if (groups.length === 0 && uid === '') return undefined
    throw usage('--as-group and --as-uid need --as USER')
  }
  return withUsualGroups({ user, groups, ...(uid === '' ? {} : { uid }) })
}

function usage(message: string): ClusterError {
  return new ClusterError('usage', message, { hint: 'see: skiff why --help' })
}

/** Answers the question that the arguments and flags ask. */
async function asked(
  client: Client,
  given: Given,
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
    const explained: Explained[] = []
    for (const path of given.filename) {
      for (const object of objectsOf(await textOf(path), path)) {
        explained.push(await explainManifest(client, object, { who, namespace, warn: from.warn }))
      }
    }
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

/** Checks the command line before the cluster is looked up. */
function checkUse(given: Given, args: readonly string[]): void {
  const isByFile = given['token-file'] !== '' || given.filename.length > 0
  const ways = [
    given.last,
    given['token-file'] !== '',
    given.filename.length > 0,
    !given.last && args.length > 0,
  ]
  if (ways.filter(Boolean).length > 1) {
    throw usage('VERB RESOURCE, -f, --token-file and --last cannot be combined')
  }
  if (given.last && args.length > 1)
    throw usage('skiff why --last takes one number as its argument')
  const somebody = somebodyOf(given)
  if (given.last || isByFile) return
  if (args.length < 2) {
    throw usage('skiff why needs VERB and RESOURCE, -f FILE, --token-file FILE or --last')
  }
  if (somebody === undefined) throw usage('the user is missing: pass --as USER')
}

async function showLast(
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

export const why = defineCommand({
  name: 'why',
  summary: 'Explain why a request is allowed or denied',
  description:
    'Shows the decision of every authorizer in order, with the rule and binding that allow the request, or the smallest\n' +
    'role that would. For a token it shows the claims and the decision of every authenticator, never the token itself.\n' +
    'Exits with 0 if the request is allowed or the token accepted, with 1 otherwise. Asks as the administrator.',
  arguments: [
    { name: 'VERB', isOptional: true },
    { name: 'RESOURCE[/NAME]|/PATH', isOptional: true },
  ],
  flags,
  examples: [
    ['skiff why list pods -n web --as alice', 'Can alice list pods there?'],
    [
      'skiff why get secrets/tls --as system:node:node-1 --as-group system:nodes',
      'Can a node read that Secret, and through which pod?',
    ],
    ['skiff why create pods --subresource exec --as alice', 'Ask about a subresource'],
    ['skiff why get /metrics --as system:serviceaccount:web:scraper', 'Ask about a path'],
    [
      'skiff why list pods -n web --as alice -o role | kubectl apply -f -',
      'Allow exactly that request',
    ],
    ['skiff why -f deployment.yaml --as alice', 'Can alice create the objects in the file?'],
    [
      'skiff why --token-file /tmp/token',
      'Which user does the token authenticate, or which check fails?',
    ],
    ['skiff why --last 3', 'Explain the last three denied requests'],
  ],
  run: async (context, { flags: given, args }) => {
    checkUse(given, args)
    return await withCluster(context, given.name, async ({ client }) => {
      const { terminal, clock } = context
      if (given.last) {
        const isJson = given.output === 'json'
        return await showLast(client, context, { count: args[0] ?? '1', isJson })
      }
      const warn = (text: string): void => terminal.err(`warning: ${text}\n`)
      const { explained, isOne } = await asked(client, given, { args, warn })
      const shown = { colors: terminal.outColors, nowMs: clock.now() }
      terminal.out(printed(explained, { ...shown, output: given.output, isOne }))
      return explained.every(isGood) ? exitCodes.ok : exitCodes.failed
    })
  },
})

/** `skiff why`: explains what is wrong with an object, why requests are allowed or denied, and lists recently denied ones. */
import { defineCommand } from './command.ts'
import { withCluster } from './find-cluster.ts'
import { whyFlags, usage, type WhyFlags } from './why-flags.ts'
import { objectQuestion, showObject, type ObjectQuestion } from './why-object.ts'
import { showLast, showRequest, somebodyOf } from './why-request.ts'

type Question = { readonly kind: 'last' } | { readonly kind: 'request' } | ObjectQuestion

/** Decides before the cluster is looked up what the command line asks. A user makes it a question about a request. */
function questionOf(given: WhyFlags, args: readonly string[]): Question {
  const isByFile = given['token-file'] !== '' || given.filename.length > 0
  const ways = [
    given.last,
    given['token-file'] !== '',
    given.filename.length > 0,
    !given.last && args.length > 0,
  ]
  if (ways.filter(Boolean).length > 1) {
    throw usage('KIND NAME or VERB RESOURCE, -f, --token-file and --last cannot be combined')
  }
  if (given.last && args.length > 1)
    throw usage('skiff why --last takes one number as its argument')
  const somebody = somebodyOf(given)
  if (given.last) return { kind: 'last' }
  if (isByFile) return { kind: 'request' }
  if (somebody !== undefined) {
    if (args.length < 2) throw usage('with --as, skiff why needs VERB and RESOURCE')
    return { kind: 'request' }
  }
  const question = objectQuestion(args)
  if (given.output === 'role' || given.subresource !== '') {
    throw usage('-o role and --subresource are for requests: pass --as USER')
  }
  if (question.kind === 'object' && given['all-namespaces']) {
    throw usage('an object is in one namespace: pass -n NAMESPACE instead of -A')
  }
  return question
}

export const why = defineCommand({
  name: 'why',
  summary: 'Explain what is wrong with an object, or why a request is denied',
  description:
    'Of an object it shows every cause for which it is not as it should be, with the evidence (objects, conditions, events, what\n' +
    'the scheduler says of each node) and the next step; `pending` stands for all pods that wait. With --as USER it explains\n' +
    'a request: the decision of every authorizer in order, with the rule and binding that allow it, or the smallest role that\n' +
    'would. For a token it shows the claims and the decision of every authenticator, never the token itself.\n' +
    'Exits with 0 if the object is fine, nothing is pending, the request is allowed or the token accepted; with 1 if not;\n' +
    'with 2 for an unknown kind and with 3 for a name that does not exist. Asks as the administrator.',
  arguments: [
    { name: 'KIND|VERB|pending', isOptional: true },
    { name: 'NAME|RESOURCE[/NAME]|/PATH', isOptional: true },
  ],
  flags: whyFlags,
  examples: [
    ['skiff why pod web-0', 'Why is the pod pending, not ready, crashing or still there?'],
    ['skiff why deploy/web -n shop', 'Why does the rollout not progress?'],
    ['skiff why pending -A', 'Which pods wait in the cluster, and for what?'],
    ['skiff why pvc data -o json', 'Why is the claim not bound? For scripts'],
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
    const question = questionOf(given, args)
    return await withCluster(context, given.name, async (cluster) => {
      switch (question.kind) {
        case 'last': {
          const isJson = given.output === 'json'
          return await showLast(cluster.client, context, { count: args[0] ?? '1', isJson })
        }
        case 'request':
          return await showRequest(cluster.client, context, { given, args })
        default:
          return await showObject(cluster, context, { given, question })
      }
    })
  },
})

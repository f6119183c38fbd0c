/**
 * Creates a bootstrap token by hand and shows the Secret that makes it valid:
 * npx node scripts/bootstrap-token.ts [--ttl-hours 24] [--dialect kubernetes|svc] [--yes]
 */
import { createHmac } from 'node:crypto'
import { createBootstrapToken, formatToken, tokenSecret } from '../cluster/plan/bootstrap-token.ts'
import { formatYaml } from '../cluster/yaml.ts'
import { dialectNamed, dialects } from '../components/api/dialect.ts'
import { systemClock } from '../components/component-base/clock.ts'
import { option, show, step } from './teaching/lesson.ts'

const dialect = dialectNamed(option('dialect', 'kubernetes')) ?? dialects.kubernetes
const token = createBootstrapToken(systemClock)

await step('The token', 'A public id of six characters, a dot, and a secret of sixteen.')
show(formatToken(token))

await step(
  'Its Secret',
  `The API server accepts the token while this object exists. The object holds the expiration and the usages: authentication
   as system:bootstrap:${token.id}, and signing of the ConfigMap cluster-info.`,
)
const ttlMs = Number(option('ttl-hours', '24')) * 3_600_000
const secret = tokenSecret({
  token,
  dialect,
  nowMs: systemClock.now(),
  ttlMs,
  description: 'by hand',
})
show(formatYaml(secret))

await step(
  'Its signature',
  `The bootstrap signer adds such a line to cluster-info for each token: a JWS with detached payload. With the token, a node
   verifies that the CA in cluster-info comes from the cluster that issued the token. Here the payload is "hello".`,
)
const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: token.id })).toString('base64url')
const payload = Buffer.from('hello').toString('base64url')
const signature = createHmac('sha256', formatToken(token))
  .update(`${header}.${payload}`)
  .digest('base64url')
show(`jws-kubeconfig-${token.id}: ${header}..${signature}`)

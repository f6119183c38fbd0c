/** nginx as an authenticating proxy: one process, a Unix socket for each of its sites. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { request as sendRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'vitest'
import type { Credential } from '../../certs/pki.ts'
import { eventually } from './eventually.ts'

/** Where Debian puts it. */
const program = '/usr/sbin/nginx'

/** The tests that need nginx. Where it is not installed they are skipped, and standard error says so. */
export function requireNginx(): typeof test | typeof test.skip {
  if (existsSync(program)) return test
  const message = `NOT TESTED: nginx as authenticating proxy; there is no ${program} (apt-get install nginx)`
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return test.skip
}

export interface Site {
  /** Shown to the server behind; none without. */
  readonly credential?: Credential | undefined
  /** Lines of a `location`: which headers are set. */
  readonly lines: readonly string[]
}

export interface NginxSetup {
  /** An empty folder of the test's. */
  readonly folder: string
  /** The server behind. */
  readonly port: number
  readonly ca: string
  /** Users with their passwords, by HTTP basic authentication. */
  readonly users: Readonly<Record<string, string>>
  /** Lines of `http`, such as a `map`. */
  readonly lines?: readonly string[]
  readonly sites: Readonly<Record<string, Site>>
}

export interface ProxyAsk {
  readonly user?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: unknown
}

export interface Nginx extends AsyncDisposable {
  /** The head of an answer; its body is still to be read. */
  open(site: string, path: string, ask?: ProxyAsk): Promise<IncomingMessage>
  /** A whole answer. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into objects of every kind
  request(site: string, path: string, ask?: ProxyAsk): Promise<{ status: number; body: any }>
}

function configurationOf({ folder, port, ca, users, lines = [], sites }: NginxSetup): string {
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content, { mode: 0o600 })
    return join(folder, name)
  }
  const authority = file('server-ca.crt', ca)
  const passwords = Object.entries(users).map(([name, password]) => `${name}:{PLAIN}${password}`)
  const passwordFile = file('passwords', passwords.join('\n'))
  const servers = Object.entries(sites).map(([name, { credential, lines: own }]) => {
    const shown =
      credential === undefined
        ? []
        : [
            `proxy_ssl_certificate ${file(`${name}.crt`, credential.certificatePem)};`,
            `proxy_ssl_certificate_key ${file(`${name}.key`, credential.privateKeyPem)};`,
          ]
    // Connections that are kept show the certificate they were made with, so no two sites may share them.
    return `upstream ${name} { server 127.0.0.1:${port}; keepalive 4; }
    server {
      listen unix:${join(folder, `${name}.sock`)};
      location / {
        auth_basic api;
        auth_basic_user_file ${passwordFile};
        proxy_pass https://${name};
        proxy_http_version 1.1;
        proxy_buffering off;
        proxy_set_header Connection "";
        proxy_set_header Authorization "";
        proxy_ssl_trusted_certificate ${authority};
        proxy_ssl_verify on;
        proxy_ssl_name localhost;
        ${[...shown, ...own].join('\n        ')}
      }
    }`
  })
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, 'tmp', name)};`,
  )
  return `daemon off;
  master_process off;
  pid ${join(folder, 'pid')};
  error_log stderr error;
  events {}
  http {
    access_log off;
    ${temporary.join('\n    ')}
    ${lines.join('\n    ')}
    ${servers.join('\n    ')}
  }\n`
}

export async function startNginx(setup: NginxSetup): Promise<Nginx> {
  const { folder, users, sites } = setup
  mkdirSync(join(folder, 'tmp'))
  const configuration = join(folder, 'nginx.conf')
  writeFileSync(configuration, configurationOf(setup))
  const child = spawn(program, ['-p', folder, '-c', configuration], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
  try {
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${said}`)
      const missing = Object.keys(sites).filter((name) => !existsSync(join(folder, `${name}.sock`)))
      if (missing.length > 0) throw new Error(`nginx does not listen: ${missing.join()} ${said}`)
    })
  } catch (error) {
    await stop()
    throw error
  }

  const open: Nginx['open'] = (site, path, { user, method = 'GET', headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const request = sendRequest({
        socketPath: join(folder, `${site}.sock`),
        path,
        method,
        headers: {
          ...(user === undefined
            ? {}
            : {
                authorization: `Basic ${Buffer.from(`${user}:${users[user] ?? ''}`).toString('base64')}`,
              }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
      })
      request.once('response', resolve)
      request.once('error', reject)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })

  return {
    open,
    async request(...asked) {
      const answer = await open(...asked)
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk as Buffer)
      const text = Buffer.concat(chunks).toString()
      const isJson = answer.headers['content-type']?.startsWith('application/json') === true
      return { status: answer.statusCode ?? 0, body: isJson ? JSON.parse(text) : text }
    },
    [Symbol.asyncDispose]: stop,
  }
}

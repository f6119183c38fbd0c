/** MarkdownText and InlineText: Markdown as elements. Texts become text nodes. */
import { parseInline, parseMarkdown, type Block, type Inline } from './markdown.ts'

function Part({ part }: { readonly part: Inline }) {
  const { text } = part
  switch (part.kind) {
    case 'code':
      return <code>{text}</code>
    case 'strong':
      return <strong>{text}</strong>
    case 'emphasis':
      return <em>{text}</em>
    case 'link': {
      const { href } = part
      const isPlace = href.startsWith('#')
      const away = isPlace ? {} : { target: '_blank', rel: 'noreferrer' }
      return (
        <a href={href} {...away}>
          {text}
        </a>
      )
    }
    case 'text':
      return <>{text}</>
  }
}

function Parts({ content }: { readonly content: readonly Inline[] }) {
  return (
    <>
      {content.map((part, at) => (
        <Part key={at} part={part} />
      ))}
    </>
  )
}

function OneBlock({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case 'paragraph':
      return (
        <p>
          <Parts content={block.content} />
        </p>
      )
    case 'code':
      return (
        <pre>
          <code>{block.text}</code>
        </pre>
      )
    case 'list': {
      const { start, items } = block
      const lines = items.map((content, at) => (
        <li key={at}>
          <Parts content={content} />
        </li>
      ))
      return start === undefined ? <ul>{lines}</ul> : <ol start={start}>{lines}</ol>
    }
  }
}

export function MarkdownText({ text }: { readonly text: string }) {
  return (
    <div class="markdown">
      {parseMarkdown(text).map((block, at) => (
        <OneBlock key={at} block={block} />
      ))}
    </div>
  )
}

/** One line, without blocks. */
export function InlineText({ text }: { readonly text: string }) {
  return <Parts content={parseInline(text)} />
}

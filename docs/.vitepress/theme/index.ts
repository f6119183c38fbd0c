/** Theme: the default one, with more room for tables and diagrams, and with the colours of diagrams and charts. */
import DefaultTheme from 'vitepress/theme'
import './site.css'

export default DefaultTheme
